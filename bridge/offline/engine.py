"""The engine of one command: an OPA with all objects and modules, which may be started for the command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from bridge.files import rego_root
from bridge.model.changes import Change, Listed, Listing, Object, Rejected, Source, Tapped, Trouble, Upserted
from bridge.model.keys import Key, group_of, key_of
from bridge.model.types import ALWAYS, CRD, DESCRIBING, GATEWAY_API, GUARDRAIL_PREFIX, Access, plural_by_rule
from bridge.offline.slicing import FEW, QUERIES, Question, Reading, Slice, Withheld
from bridge.opa.address import TlsFiles
from bridge.opa.bundle import Bundle
from bridge.opa.client import Opa
from bridge.opa.executable import ensure_opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import preset_kinds, shipped_bundle
from bridge.replicator.replicator import QUERIES_OF_SYNC, Replicator, without_collector
from bridge.sources.manifests import ManifestSource
from bridge.work import beside

if TYPE_CHECKING:
    from bridge.kube.kube_client import KubeClient
    from bridge.kube.object_details import ObjectDetails
    from bridge.offline.modules import ModulesThere, ReadServed, SettledModules
    from bridge.settings.model import Settings
    from bridge.sources.known_fields import Doubt


POLL = 1.0  # seconds between two checks of an OPA that another bridge syncs
PATIENCE = 10.0  # seconds for a cluster's first response, and for its ConfigMaps and RegoPolicies
FEW_BYTES = 1 << 20  # of manifests: OPA needs some ten times that for their objects

# An author's manifest, or a Constraint with a guardrail, contains one of these texts, unless it has escapes.
MARKS = (b"openpolicyagent.org/", b"RegoPolicy", GUARDRAIL_PREFIX.encode())
_AUTHORS = ("ConfigMap", "RegoPolicy")  # kinds of objects that may have Rego
_WITH_REGO = (*_AUTHORS, "Constraint")  # and those that may name a guardrail


class Contents(Protocol):
    """What an OPA holds for a command: it may have a slice of the objects, and follow their changes."""

    async def changed(self) -> None:
        """Wait until the contents may differ."""

    async def add_read(self, reading: Reading) -> None:
        """Add what an answer reads."""

    async def add_withheld(self) -> bool:
        """Add all other objects; return whether there were any."""


@dataclass(slots=True)
class Engine:
    """An OPA to query. For objects that were read for it also their problems, and where they are from.

    `problems` are errors of the input, and what cannot be read; `rejected` is Rego of others in a cluster. The objects
    are from `manifests` or a `cluster`; both are None where that is unknown. `contents` are None for an OPA that a
    bridge syncs. `replicated` are the types of objects from a cluster, None for all, and `namespace` is the context's,
    None for other sources. `empty` means that manifests have no objects. `running` means that the OPA was there before.
    `settled` are admins' modules, None without any and for a running OPA. `modules_there` keeps what was read of a
    running OPA's modules; `room` is for the changes that need further OPAs.
    """

    opa: Opa
    problems: list[Trouble] = field(default_factory=list)
    rejected: list[Trouble] = field(default_factory=list)
    manifests: ManifestSource | None = None
    cluster: ObjectDetails | None = None
    contents: Contents | None = None
    replicated: Sequence[str] | None = None
    namespace: str | None = None
    empty: bool = False
    running: bool = False
    settled: SettledModules | None = None
    modules_there: ModulesThere | None = None
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    @property
    def crds(self) -> Sequence[Object]:
        """The CRDs among manifests."""
        return self.manifests.crds if self.manifests else ()

    @property
    def unchecked(self) -> Sequence[str]:
        """A line for each kind with rules that `doubts` could not evaluate."""
        return self.manifests.unchecked if self.manifests else ()

    def position(self, key: Key) -> tuple[str, int] | None:
        """Return the file and line of an object of manifests."""
        return self.manifests.position(key) if self.manifests else None

    def doubts(
        self, crds: Iterable[Object] = (), keys: Collection[str] | None = None, changed: Iterable[Object] = ()
    ) -> list[tuple[Key, Doubt, int]]:
        """Return what an API server refuses or drops of manifests (see `ManifestSource.doubts`)."""
        return self.manifests.doubts(crds, keys, changed) if self.manifests else []

    def complete(self, crds: Iterable[Object]) -> Mapping[Key, Object] | None:
        """Return the manifests' objects with the defaults of other CRDs; None for other sources."""
        return self.manifests.complete(crds) if self.manifests else None

    async def events(self, key: Key) -> list[dict[str, Any]]:
        """Return the Events about a cluster's object."""
        return await self.cluster.events(key) if self.cluster else []

    async def applied_names(self, key: Key) -> Mapping[str, AbstractSet[str]] | None:
        """Return the labels and annotations that files set on an object; None if that is unknown."""
        return await self.cluster.applied_names(key) if self.cluster else None

    async def changed(self) -> None:
        """Wait until the contents may differ."""
        await (self.contents.changed() if self.contents else asyncio.sleep(POLL))

    async def add_read(self, reading: Reading) -> None:
        """Add what an answer reads to an OPA with a slice."""
        if self.contents:
            await self.contents.add_read(reading)

    async def add_withheld(self) -> bool:
        """Add all other objects to an OPA with a slice; return whether there were any."""
        return await self.contents.add_withheld() if self.contents else False

    def knows(self, key: Key) -> bool:
        """Return whether the OPA would have an object if it existed: the user may read its type in its namespace."""
        forbidden = [one for one in self.problems if one.forbidden and one.subject == key.type_id]
        return all(key.namespace in one.namespaces for one in forbidden)

    async def modules(self) -> list[dict[str, Any]]:
        """Return admins' Rego by object, `{name, packages, state, message}`: the state Active, Pending or Rejected."""
        if self.settled is not None:
            from bridge.offline.modules import module_states

            return module_states(self.settled, self.opa.failures.errors)
        active, states = await self.opa.modules_by_author(), await self.opa.module_states()
        return [
            {
                "name": str(author),
                "packages": active.get(author, []),
                "state": "Active" if author in active else "Rejected" if "rejected" in states[author] else "Pending",
                "message": _describe_state(states.get(author, {}), active=author in active),
            }
            for author in sorted({*active, *states})
        ]


class RunningEngines:
    """Makes engines on the OPA of a running bridge, which share its modules as last read, and the room for one change.

    `settings` are those of policies, `served` is that of `ModulesThere`.
    """

    def __init__(self, settings: Settings, served: ReadServed = lambda _: None) -> None:
        from bridge.offline.modules import ModulesThere

        self._modules = ModulesThere(settings, served)
        self._room = asyncio.Semaphore(1)

    def on(self, opa: Opa) -> Engine:
        """Return an engine on this OPA."""
        return Engine(opa, running=True, modules_there=self._modules, room=self._room)


def _describe_state(state: Mapping[str, str], *, active: bool) -> str:
    newest = [f"being checked since {state['since']}"] if "since" in state else []
    newest += [f"rejected: {state['rejected']}"] if "rejected" in state else []
    if active:
        newest = [f"the newest version is {text}" for text in newest]
    return "; ".join([*newest, *([state["failing"]] if "failing" in state else [])])


@asynccontextmanager
async def open_engine(  # noqa: PLR0913 - independent options of one source
    *,
    opa_url: str | None = None,
    cluster: str = "",
    token: str | Callable[[], str] | None = None,
    tls: TlsFiles | None = None,
    manifests: Sequence[str] = (),
    kubeconfig: str | None = None,
    kube_context: str | None = None,
    namespaces: Sequence[str] = (),
    types: Sequence[str] = (),
    follow: bool = False,
    empty: bool = False,
    queries: Iterable[str] | None = None,
    applied: Sequence[str] = (),
    only_merging: bool = False,
    question: Question | None = None,
) -> AsyncIterator[Engine]:
    """Yield an engine on a running OPA, on manifests (paths, `-` for standard input), or else on a cluster.

    `opa_url` is a running one's, with `token` and `tls`; `cluster` is one of several that it has. The others have a
    temporary OPA; a cluster is `kubeconfig`'s, None for kubectl's. Types that may not be read in all its namespaces are
    read in `namespaces` and the context's.
    `types` are read in addition to Gateway API's and the policy kinds'. With `follow` they read changes. With `empty`
    the engine has no objects, only the shipped Rego. `queries` are those that the command may send: a temporary OPA for
    manifests without Rego has only the rules that they reach; by default it has all. `applied` are paths of
    manifests that the command applies: a temporary OPA has the shipped guardrails that they name. With
    `only_merging` it has of a cluster's Rego only that by which policies merge, which is then all that is checked.
    `question` is all that the command wants to know: a temporary OPA without Rego of admins may have a slice.

    Raises ManifestError for a missing path, KubeError for a cluster that does not respond, OpaError if OPA cannot be
    reached or started, ToolError if no `opa` is available.
    """
    if opa_url:
        async with Opa(opa_url, token=token, tls=tls) as opa:
            opa.cluster = cluster
            yield Engine(opa, running=True)
        return
    changed = ManifestSource(applied, follow=False)
    rules = changed.load_mentioning((GUARDRAIL_PREFIX.encode(),))
    if manifests or empty:
        source = ManifestSource(manifests, follow=follow)
        source.check_paths()  # a wrong path is reported before an `opa` is installed
        async with AsyncExitStack() as stack:
            # Most folders have no Rego: OPA compiles the shipped modules during the read. A CRD of Rego is marked, too.
            is_marked = bool(rules) or await asyncio.to_thread(source.mentions, MARKS)
            few = source.size() + changed.size() <= FEW_BYTES
            reach = None if queries is None else {*queries, *QUERIES_OF_SYNC, *(QUERIES if question else ())}
            if not is_marked:
                starting = await stack.enter_async_context(_start_opa(_bundle_without_rego(reach), few=few))
            if not follow:
                stack.enter_context(without_collector())  # the command ends soon
            with without_collector():
                objects = await asyncio.to_thread(source.load)
            found, rejected = None, []
            if rules or any(obj["kind"] in (_WITH_REGO if is_marked else _AUTHORS) for obj in objects):
                from bridge.offline.modules import settle_manifests, troubles

                found = await settle_manifests(objects, rules)
                rejected = troubles(found, source.position)
            has_rego = found is not None and bool(found.submissions or found.guardrails)
            if found is not None and has_rego:  # also of authors whose texts have no mark
                starting = await stack.enter_async_context(_start_opa(found.bundle, few=few))
            elif is_marked:
                starting = await stack.enter_async_context(_start_opa(_bundle_without_rego(reach), few=few))
            asked = None if has_rego else question
            filled = await stack.enter_async_context(_fill_from(source, starting, types, asked, objects))
            yield Engine(
                filled.opa,
                [*source.problems, *rejected],
                manifests=source,
                contents=filled,
                empty=not objects and not empty,
                settled=found,
            )
        return
    # Imported here because manifests do not need it, and the Kubernetes library costs half a second.
    from bridge.kube.kube_client import KubeClient
    from bridge.kube.object_details import ObjectDetails
    from bridge.offline.modules import settle_cluster, troubles
    from bridge.sources.cluster import ClusterSource

    async with await KubeClient.connect(kubeconfig, kube_context) as client:
        lacking = await meet(client)
        types = (*types, *await _find_undiscovered(client))
        found = await settle_cluster(client, rules, patience=PATIENCE, only_merging=only_merging)
        unread = _Troubles()
        instead = tuple(dict.fromkeys((*namespaces, client.namespace)))
        served = Tapped(ClusterSource(client, instead=instead), unread.take_in)
        asked = None if found.submissions else question
        async with _start_opa(found.bundle) as starting, _fill_from(served, starting, types, asked) as filled:
            forbidden = {one.subject: list(one.namespaces) for one in unread.sorted() if one.forbidden}
            if forbidden:
                await filled.opa.put("unread", forbidden)
            yield Engine(
                filled.opa,
                [*lacking, *found.unread, *unread.sorted()],
                troubles(found),
                replicated=(*ALWAYS, *types),
                namespace=client.namespace,
                cluster=ObjectDetails(client),
                contents=filled,
                settled=found,
            )


async def meet(client: KubeClient) -> list[Trouble]:
    """Return what a cluster lacks that every command needs: Gateway API.

    A source waits for an unavailable server; a command does not. Raises KubeError, which names the server, the context
    and the fix.
    """
    from bridge.kube.discovery import serves_group
    from bridge.kube.kube_errors import ApiError, KubeError, Unauthorized

    try:
        await client.get("/version", timeout=PATIENCE)
    except KubeError as error:
        fix = "renew the credentials there" if isinstance(error, Unauthorized) else "check the server there"
        named = str(error) if client.server in str(error) else f"{client.server}: {error}"
        raise KubeError(f"{named}; it is the server of {client.origin}: {fix}, or choose another --context") from error
    try:
        if await serves_group(client, GATEWAY_API, timeout=PATIENCE):
            return []
    except ApiError:
        return []  # the types themselves have the reason
    fix = f"apply its CRDs (https://gateway-api.sigs.k8s.io), or choose another than {client.origin}"
    return [Trouble(client.server, f"the API server does not serve Gateway API: {fix}", retried=False)]


async def _find_undiscovered(client: KubeClient) -> list[str]:
    """Return the policy kinds with presets for a user who may not read CRDs: they are read where they are served."""
    from bridge.kube.discovery import find_missing_access
    from bridge.kube.kube_errors import KubeError

    try:
        hidden = await find_missing_access(client, [Access("", group_of(CRD), plural_by_rule(CRD), ("list",))])
    except KubeError:  # the types themselves have the reason
        return []
    return preset_kinds(rego_root()) if hidden else []


def _bundle_without_rego(queries: Iterable[str] | None) -> Bundle:
    """Return the bundle without Rego of admins, only with the rules that these queries reach (None: with all)."""
    bounds = {}
    if any(name.startswith("BRIDGE_POLICY_") for name in os.environ):  # otherwise the Rego's own are the same
        from bridge.offline.modules import policy_settings

        bounds = policy_settings().policy_bounds
    return shipped_bundle(rego_root(), bounds, queries)


@asynccontextmanager
async def _start_opa(bundle: Bundle, *, few: bool = False) -> AsyncIterator[asyncio.Task[str]]:
    """Start a temporary OPA with a bundle, stopped at the end; the task returns its URL once it responds.

    With `few` it gets few objects.
    """
    executable = await asyncio.to_thread(ensure_opa)
    managed = ManagedOpa(executable.path, {}, bundle=bundle, few=few)
    try:
        async with beside(managed.start()) as starting:
            yield starting
    finally:
        await managed.stop()


class _Filled:
    """An OPA with the objects of a source, which `running` replicates, or with `part` of them: these are `Contents`."""

    def __init__(self, opa: Opa, replicator: Replicator, running: asyncio.Task[None], part: Slice | None) -> None:
        self.opa = opa
        self._replicator = replicator
        self._running = running
        self._part = part
        self._news = asyncio.Event()

    async def begin(self) -> None:
        """Wait until OPA has the objects."""
        await self._unless_it_ends(self._replicator.filled.wait())

    def follow(self) -> None:
        """Notice changes from now on."""
        self._replicator.listen(lambda _: self._news.set())

    async def changed(self) -> None:
        """Wait for a change."""
        await self._news.wait()
        self._news.clear()

    async def add_read(self, reading: Reading) -> None:
        """Add what an answer reads."""
        if self._part is not None:
            found = self._part.take_out(await self._part.find_read(self.opa, reading))
            await self._unless_it_ends(self._replicator.add(found))

    async def add_withheld(self) -> bool:
        """Add all other objects; return whether there were any."""
        rest = self._part.take_out() if self._part is not None else []
        await self._unless_it_ends(self._replicator.add(rest))
        return bool(rest)

    async def _unless_it_ends(self, work: Coroutine[Any, Any, Any]) -> None:
        """Await this work; raise the error with which the replication ends before."""
        async with beside(work) as task:
            await asyncio.wait({self._running, task}, return_when=asyncio.FIRST_COMPLETED)
            await (self._running if self._running.done() else task)


@asynccontextmanager
async def _fill_from(
    source: Source,
    starting: asyncio.Task[str],
    types: Sequence[str],
    question: Question | None = None,
    objects: Sequence[Object] | None = None,
) -> AsyncIterator[_Filled]:
    """Yield an OPA with the objects of a source (None: unknown), or a slice of them for a question."""
    async with Opa(await starting, brief=True) as opa:
        part = None
        if question is not None and (objects is None or len(objects) > FEW):
            withheld = Withheld(**await opa.query("withheld", {}))
            names = question.names(withheld.types)
            if names is not None and (objects is None or withheld.spares(objects, names)):
                source = part = Slice(source, withheld, names)
        replicator = Replicator(source, opa, (*ALWAYS, *types))
        async with beside(replicator.run()) as running:
            filled = _Filled(opa, replicator, running, part)
            await filled.begin()
            targets = await question.targets(opa) if part is not None and question is not None else None
            if targets is not None:
                await filled.add_read(Reading(targets))
            filled.follow()
            yield filled


@asynccontextmanager
async def open_objects(bundle: Bundle, objects: Iterable[Object]) -> AsyncIterator[Opa]:
    """Yield a temporary OPA with a bundle and these objects, as they come from another OPA."""
    async with _start_opa(bundle) as starting, _fill_from(FixedSource(objects), starting, ()) as filled:
        yield filled.opa


class _Troubles:
    """Why a source delivers no objects of a served type, or rejects an object."""

    def __init__(self) -> None:
        self._found: dict[str, Trouble] = {}

    def sorted(self) -> list[Trouble]:
        """Return the current ones, by type or key."""
        return [self._found[subject] for subject in sorted(self._found)]

    def take_in(self, change: Change) -> None:
        """Take in a change of the source."""
        if isinstance(change, Trouble) and not change.absent:
            self._found[change.subject] = change
        elif isinstance(change, Rejected):
            self._found[str(change.key)] = Trouble(str(change.key), change.reason)
        elif isinstance(change, Listed):
            self._found.pop(change.type_id, None)


class FixedSource:
    """A `Source` that delivers these objects once, those that describe policy kinds first.

    Their defaults are set, and their fields that OPA must not have are removed, as in objects from an OPA.
    """

    def __init__(self, objects: Iterable[Object]) -> None:
        self._objects: dict[str, list[Object]] = {}
        for obj in objects:
            self._objects.setdefault(key_of(obj).type_id, []).append(obj)

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Also deliver an empty list for each of these types without objects, so that no reader waits for it."""
        for type_id in type_ids:
            self._objects.setdefault(type_id, [])

    def relist(self) -> None:
        """Do nothing: everything is delivered once, and its reader keeps it."""

    async def changes(self) -> AsyncIterator[Change]:
        """Yield all objects, type by type."""
        for type_id in sorted(self._objects, key=lambda name: (name not in DESCRIBING, name)):
            yield Listing(type_id)
            if objects := self._objects[type_id]:
                yield Upserted(type_id, tuple(objects))
            yield Listed(type_id)
