"""The engine behind one command: an OPA with all objects and modules, which may be started for the command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import msgspec

from bridge.app.store import plural_by_rule
from bridge.model.changes import Change, Listed, Listing, Object, Rejected, Trouble, Upserted
from bridge.model.keys import CLUSTER, Key, group_of, key_of
from bridge.model.types import ALWAYS
from bridge.opa.address import TlsFiles
from bridge.opa.bundle import Bundle
from bridge.opa.client import Opa
from bridge.opa.executable import ensure_opa
from bridge.opa.process import ManagedOpa
from bridge.policy_loader import reports
from bridge.policy_loader.authors import MARKS
from bridge.policy_loader.compile_check import Checker
from bridge.policy_loader.kubernetes_view import kubernetes_view
from bridge.policy_loader.objects import CONFIG_MAP, config_maps_in
from bridge.policy_loader.ownership import packages
from bridge.policy_loader.settlement import Gathering, SettledModules
from bridge.policy_loader.shipped import shipped
from bridge.replicator.initial_sync import without_collector
from bridge.replicator.replicator import Replicator
from bridge.resources import rego_root
from bridge.settings.files import Mistake, SettingsError
from bridge.settings.model import POLICY_BOUNDS, POLICY_NAMESPACES, PREFIX, Settings
from bridge.sources.base import Source
from bridge.sources.manifests import ManifestSource

if TYPE_CHECKING:
    from bridge.kube.client import KubeClient


async def settle_manifests(objects: Iterable[Object]) -> SettledModules:
    """The bundle for a folder's objects. Raises ToolError where there is no `opa`, CheckError where it is broken."""
    gathering = Gathering(_namespaces())
    for type_id in gathering.authors.types:
        gathering.note(Listing(type_id))
    for obj in objects:
        gathering.note(Upserted(key_of(obj).type_id, (obj,)))
    for type_id in gathering.authors.types:
        gathering.note(Listed(type_id))
    return await _settle(gathering)


async def settle_cluster(client: KubeClient) -> SettledModules:
    """The bundle for a cluster. What may not be read there is among its problems, by the type's key."""
    from bridge.sources.cluster import ClusterSource

    gathering = Gathering(_namespaces())
    source = ClusterSource(client, {CONFIG_MAP: config_maps_in(_namespaces())})
    source.want(gathering.authors.types)
    try:
        told = cast("AsyncGenerator[Change, None]", source.changes())
        async with asyncio.timeout(PATIENCE), aclosing(told) as changes:
            async for change in changes:
                gathering.note(change)
                if gathering.settled:
                    break
    except TimeoutError:
        gathering.give_up()
    return await _settle(gathering)


def troubles(
    found: SettledModules, position: Callable[[Key], tuple[str, int] | None] = lambda _: None
) -> list[Trouble]:
    """What is wrong with authors' objects, one a problem, at the file and line where an object stands."""
    told = []
    for key, problems in found.problems.items():
        place = position(key)
        name = key.name if key.namespace == CLUSTER else f"{key.namespace}/{key.name}"
        for problem in problems:
            subject = f"{place[0]}:{place[1]}" if place else str(key)
            text = f"{reports.place(problem)}{problem.message}"
            told.append(Trouble(subject, f"{key.kind} {name}: {text}" if place else text, retried=False))
    told += [Trouble(type_id, why, retried=False) for type_id, why in found.unread.items()]
    return told


def module_states(found: SettledModules) -> list[dict[str, Any]]:
    """Objects that submit Rego, `{name, packages, state, message}`: `name` is the key, `state` Active or Rejected."""
    return [
        {
            "name": str(key),
            "packages": sorted({".".join(package) for package in packages(found.submissions[key]).values()})
            if key in found.submissions
            else [],
            "state": "Rejected" if key in found.problems else "Active",
            "message": "; ".join(f"{reports.place(one)}{one.message}" for one in found.problems.get(key, ())),
        }
        for key in sorted({*found.submissions, *found.problems})
    ]


async def _settle(gathering: Gathering) -> SettledModules:
    found = shipped(rego_root(), _bounds())
    executable = await asyncio.to_thread(ensure_opa)
    view = kubernetes_view((type_id, plural_by_rule(type_id)) for type_id in ALWAYS)
    return await gathering.settle(Checker(executable.path, found.modules), found, view)


def _bounds() -> dict[str, int]:
    """The settings `policy_max_…`, from the environment as well."""
    given = {name: os.environ[PREFIX + name.upper()] for name in POLICY_BOUNDS if PREFIX + name.upper() in os.environ}
    try:
        return msgspec.convert(given, Settings, strict=False).policy_bounds
    except msgspec.ValidationError as error:
        raise SettingsError(Mistake("environment", f"{PREFIX}POLICY_MAX_…: {error}")) from error


def _namespaces() -> tuple[str, ...]:
    """The setting, as far as a command without a settings file has it: from the environment."""
    given = os.environ.get(f"{PREFIX}POLICY_NAMESPACES")
    return POLICY_NAMESPACES if given is None else tuple(filter(None, given.split(",")))


POLL = 1.0  # seconds between two looks at an OPA that somebody else fills
PATIENCE = 10.0  # seconds for a cluster's first answer, and for its ConfigMaps and RegoPolicies


@dataclass(slots=True)
class Engine:
    """An OPA to query. For objects that were read for it also the problems of these, and where a manifest's object is.

    `problems` are faults of the input; `warnings` are faults of others, such as an admin's ConfigMap in a cluster that
    was rejected. `replicated` are the types of objects that it holds of a cluster, None for all. `changed` waits until
    it may hold something else. `empty` says that manifests have no objects. `modules` lists admins' Rego with its
    state, `events` the Events of an object.
    """

    opa: Opa
    problems: list[Trouble] = field(default_factory=list)
    warnings: list[Trouble] = field(default_factory=list)
    position: Callable[[Key], tuple[str, int] | None] = lambda _: None
    replicated: Sequence[str] | None = None
    changed: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(POLL)
    empty: bool = False
    states: list[dict[str, Any]] | None = None
    events: Callable[[Key], Awaitable[list[dict[str, Any]]]] = lambda _: _no_events()

    async def modules(self) -> list[dict[str, Any]]:
        """Admins' Rego by object: `{name, packages, state, message}`. A running OPA has only what is active."""
        if self.states is not None:
            return self.states
        return [
            {"name": str(author), "packages": packages, "state": "Active", "message": ""}
            for author, packages in sorted((await self.opa.modules_by_author()).items())
        ]


async def _no_events() -> list[dict[str, Any]]:
    """Manifests and an OPA have no Events."""
    return []


@asynccontextmanager
async def open_engine(  # noqa: PLR0913 - each says another thing of what is read
    *,
    opa_url: str | None = None,
    token: str | Callable[[], str] | None = None,
    tls: TlsFiles | None = None,
    manifests: Sequence[str] = (),
    kubeconfig: str | None = None,
    kube_context: str | None = None,
    types: Sequence[str] = (),
    follow: bool = False,
    empty: bool = False,
) -> AsyncIterator[Engine]:
    """An engine on a running OPA, on manifests (paths, `-` for standard input), or else on a cluster.

    `opa_url` is a running one's, with `token` and `tls`. The others have an OPA of their own for as long as the engine
    is open; a cluster is `kubeconfig`'s, None for kubectl's; `types` are read of them besides Gateway API's and the
    policy kinds'. With `follow` they take in what changes. Raises ManifestError for a path that is not there, KubeError
    for a cluster that does not answer, OpaError where OPA cannot be reached or started, ToolError where there is no
    `opa` and none can be had. With `empty` it holds no objects at all, only the shipped Rego.
    """
    if opa_url:
        async with Opa(opa_url, token=token, tls=tls) as opa:
            yield Engine(opa)
        return
    if manifests or empty:
        source = ManifestSource(manifests, follow=follow)
        source.check_paths()  # a wrong path is reported before an `opa` is installed
        async with AsyncExitStack() as stack:
            # Most folders have no Rego of their own: OPA compiles the shipped modules while they are read.
            shipped = (await settle_manifests(())).bundle
            starting = None
            if not await asyncio.to_thread(source.mentions, MARKS):
                starting = await stack.enter_async_context(_starting(shipped))
            with without_collector():
                objects = await asyncio.to_thread(source.load)
            found = await settle_manifests(objects)
            if starting is None or found.bundle != shipped:
                starting = await stack.enter_async_context(_starting(found.bundle))
            opa, changed = await stack.enter_async_context(_filled_from(source, starting, types))
            yield Engine(
                opa,
                [*source.problems, *troubles(found, source.position)],
                position=source.position,
                changed=changed,
                empty=not objects and not empty,
                states=module_states(found),
            )
        return
    # Imported here because manifests need none of it, and the Kubernetes library costs half a second.
    from bridge.kube.client import KubeClient
    from bridge.sources.cluster import ClusterSource

    async with await KubeClient.connect(kubeconfig, kube_context) as client:
        await client.get("/version", timeout=PATIENCE)  # a source waits for a server that is away; a person does not
        found = await settle_cluster(client)
        told = _SourceWithProblems(ClusterSource(client))
        async with _starting(found.bundle) as starting, _filled_from(told, starting, types) as (opa, changed):
            yield Engine(
                opa,
                told.problems,
                # Rego that another team submitted and that was rejected must not fail a reader.
                troubles(found),
                replicated=(*ALWAYS, *types),
                changed=changed,
                states=module_states(found),
                events=lambda key: _events_of(client, key),
            )


async def _events_of(client: KubeClient, key: Key) -> list[dict[str, Any]]:
    """The Events about an object of a cluster, the oldest first: `{type, reason, message, count, last, from}`."""
    from bridge.kube.errors import KubeError

    namespace = "default" if key.namespace == CLUSTER else key.namespace  # where those of cluster-scoped objects are
    selector = f"involvedObject.kind={key.kind},involvedObject.name={key.name}"
    try:
        answer = await client.get(f"/api/v1/namespaces/{namespace}/events", {"fieldSelector": selector, "limit": "100"})
    except KubeError:
        return []  # who may not list Events still gets the rest
    found = [
        {
            "type": event.get("type", ""),
            "reason": event.get("reason", ""),
            "message": event.get("message", ""),
            "count": event.get("count") or 1,
            "last": event.get("lastTimestamp") or event.get("eventTime") or "",
            "from": (event.get("source") or {}).get("component") or event.get("reportingComponent", ""),
        }
        for event in answer["items"]
        if group_of((event.get("involvedObject") or {}).get("apiVersion") or "v1") == key.group
    ]
    return sorted(found, key=lambda event: str(event["last"]))


@asynccontextmanager
async def _starting(bundle: Bundle) -> AsyncIterator[asyncio.Task[str]]:
    """An OPA of its own with a bundle, stopped at the end; the task gives its URL once it answers."""
    executable = await asyncio.to_thread(ensure_opa)
    managed = ManagedOpa(executable.path, {}, bundle=bundle)
    starting = asyncio.create_task(managed.start())
    try:
        yield starting
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await managed.stop()


@asynccontextmanager
async def _filled_from(
    source: Source, starting: asyncio.Task[str], types: Sequence[str]
) -> AsyncIterator[tuple[Opa, Callable[[], Awaitable[None]]]]:
    """An OPA that holds what a source delivers, and a function that waits for a change of that."""
    async with Opa(await starting) as opa:
        replicator = Replicator(source, opa, (*ALWAYS, *types))
        running = asyncio.create_task(replicator.run())
        filled = asyncio.create_task(replicator.filled.wait())
        try:
            await asyncio.wait({running, filled}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
            news = asyncio.Event()
            replicator.listen(lambda _: news.set())

            async def changed() -> None:
                await news.wait()
                news.clear()

            yield opa, changed
        finally:
            for task in (running, filled):
                task.cancel()
            await asyncio.gather(running, filled, return_exceptions=True)


class _SourceWithProblems:
    """A source that remembers why it delivers nothing of a served type until it does, or rejects an object."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._troubles: dict[str, Trouble] = {}

    @property
    def problems(self) -> list[Trouble]:
        """What was told, by type."""
        return [self._troubles[subject] for subject in sorted(self._troubles)]

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver these types from now on."""
        self._source.want(type_ids)

    def relist(self) -> None:
        """Tell everything anew."""
        self._source.relist()

    async def changes(self) -> AsyncIterator[Change]:
        """The source's changes."""
        async for change in self._source.changes():
            if isinstance(change, Trouble) and not change.absent:
                self._troubles[change.subject] = change
            elif isinstance(change, Rejected):
                self._troubles[str(change.key)] = Trouble(str(change.key), change.reason)
            elif isinstance(change, Listed):
                self._troubles.pop(change.type_id, None)
            yield change
