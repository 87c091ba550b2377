"""The engine of one command: an OPA with all objects and modules, which may be started for the command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from bridge.app.store import plural_by_rule
from bridge.model.changes import Change, Listed, Listing, Object, Rejected, Source, Trouble, Upserted
from bridge.model.keys import CLUSTER, Key, group_of, key_of
from bridge.model.types import ALWAYS
from bridge.opa.address import TlsFiles
from bridge.opa.bundle import Bundle
from bridge.opa.client import Opa
from bridge.opa.executable import ensure_opa
from bridge.opa.process import ManagedOpa
from bridge.policy_loader import reports
from bridge.policy_loader.authors import MARKS, Gathering, SettledModules
from bridge.policy_loader.compile_check import Checker
from bridge.policy_loader.judgement import failures_by_author
from bridge.policy_loader.ownership import packages
from bridge.policy_loader.shipped import kubernetes_view, shipped
from bridge.policy_loader.submissions import CONFIG_MAP, ModuleProblem, config_maps_in
from bridge.replicator.initial_sync import without_collector
from bridge.replicator.replicator import QUERIES_OF_SYNC, Replicator
from bridge.resources import rego_root
from bridge.settings.loading import load_settings
from bridge.settings.model import SETTINGS, Settings
from bridge.sources.manifests import ManifestSource

if TYPE_CHECKING:
    from bridge.kube.client import KubeClient


async def settle_manifests(objects: Iterable[Object], queries: Iterable[str] | None = None) -> SettledModules:
    """Return the bundle for a folder's objects; with `queries` only with the shipped rules that these reach.

    Raises ToolError without an `opa`, CheckError for a broken one.
    """
    gathering = Gathering(_policy_settings().policy_namespaces)
    for type_id in gathering.authors.types:
        gathering.note(Listing(type_id))
    for obj in objects:
        gathering.note(Upserted(key_of(obj).type_id, (obj,)))
    for type_id in gathering.authors.types:
        gathering.note(Listed(type_id))
    return await _settle(gathering, queries)


async def settle_cluster(client: KubeClient) -> SettledModules:
    """Return the bundle for a cluster. Types that may not be read are among its problems, by the type's key."""
    from bridge.sources.cluster import ClusterSource

    gathering = Gathering(_policy_settings().policy_namespaces)
    source = ClusterSource(client, {CONFIG_MAP: config_maps_in(_policy_settings().policy_namespaces)})
    source.want(gathering.authors.types)
    try:
        stream = cast("AsyncGenerator[Change, None]", source.changes())
        async with asyncio.timeout(PATIENCE), aclosing(stream) as changes:
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
    """Return the problems of authors' objects, one for each, with the file and line of an object."""
    reported = []
    for key, problems in found.problems.items():
        place = position(key)
        name = key.name if key.namespace == CLUSTER else f"{key.namespace}/{key.name}"
        for problem in problems:
            subject = f"{place[0]}:{place[1]}" if place else str(key)
            text = f"{reports.place(problem)}{problem.message}"
            reported.append(Trouble(subject, f"{key.kind} {name}: {text}" if place else text, retried=False))
    reported += [Trouble(type_id, why, retried=False) for type_id, why in found.unread.items()]
    return reported


def module_states(found: SettledModules, failing: Mapping[Key, Sequence[ModuleProblem]]) -> list[dict[str, Any]]:
    """Return objects that submit Rego, `{name, packages, state, message}`: a key, and the state Active or Rejected."""
    return [
        {
            "name": str(key),
            "packages": sorted({".".join(package) for package in packages(found.submissions[key]).values()})
            if key in found.submissions
            else [],
            "state": "Rejected" if key in found.problems else "Active",
            "message": "; ".join(
                [
                    *(f"{reports.place(one)}{one.message}" for one in found.problems.get(key, ())),
                    *([reports.summary_of_failing(failing[key])] if key in failing else []),
                ]
            ),
        }
        for key in sorted({*found.submissions, *found.problems})
    ]


async def _settle(gathering: Gathering, queries: Iterable[str] | None = None) -> SettledModules:
    found = shipped(rego_root(), _policy_settings().policy_bounds, queries=queries)
    executable = await asyncio.to_thread(ensure_opa)
    view = kubernetes_view((type_id, plural_by_rule(type_id)) for type_id in ALWAYS)
    return await gathering.settle(Checker(executable.path, found.modules), found, view)


def _policy_settings() -> Settings:
    """Return the settings of policies for a command without a settings file: from the environment."""
    variables = [one.variable for one in SETTINGS.values() if one.name.startswith("policy_")]
    return load_settings(environ={name: os.environ[name] for name in variables if name in os.environ})


POLL = 1.0  # seconds between two checks of an OPA that another bridge syncs
PATIENCE = 10.0  # seconds for a cluster's first response, and for its ConfigMaps and RegoPolicies


@dataclass(slots=True)
class Engine:
    """An OPA to query. For objects that were read for it also their problems, and the positions of manifests' objects.

    `problems` are errors of the input; `warnings` are errors of others, such as a rejected ConfigMap of an admin in a
    cluster. `replicated` are the types of objects from a cluster, None for all. `changed` waits until the contents may
    differ. `empty` means that manifests have no objects. `settled` are admins' modules, None for a running OPA;
    `events` returns the Events of an object.
    """

    opa: Opa
    problems: list[Trouble] = field(default_factory=list)
    warnings: list[Trouble] = field(default_factory=list)
    position: Callable[[Key], tuple[str, int] | None] = lambda _: None
    replicated: Sequence[str] | None = None
    changed: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(POLL)
    empty: bool = False
    settled: SettledModules | None = None
    events: Callable[[Key], Awaitable[list[dict[str, Any]]]] = lambda _: _no_events()

    async def modules(self) -> list[dict[str, Any]]:
        """Admins' Rego by object: `{name, packages, state, message}`. A running OPA has no rejected versions."""
        if self.settled is not None:
            failing = failures_by_author(self.opa.failures.errors, [*self.settled.submissions.values()])
            return module_states(self.settled, failing)
        active, states = await self.opa.modules_by_author(), await self.opa.module_states()
        return [
            {
                "name": str(author),
                "packages": active.get(author, []),
                "state": "Active" if author in active else "Pending",
                "message": _state_message(states.get(author, {}), active=author in active),
            }
            for author in sorted({*active, *states})
        ]


def _state_message(state: Mapping[str, str], *, active: bool) -> str:
    checked = [f"being checked since {state['since']}"] if "since" in state else []
    if active:
        checked = [f"the newest version is {text}" for text in checked]
    return "; ".join([*checked, *([state["failing"]] if "failing" in state else [])])


async def _no_events() -> list[dict[str, Any]]:
    """Return no Events, for manifests and an OPA."""
    return []


@asynccontextmanager
async def open_engine(  # noqa: PLR0913 - independent options of one source
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
    queries: Iterable[str] | None = None,
) -> AsyncIterator[Engine]:
    """Yield an engine on a running OPA, on manifests (paths, `-` for standard input), or else on a cluster.

    `opa_url` is a running one's, with `token` and `tls`. The others have a temporary OPA; a cluster is `kubeconfig`'s,
    None for kubectl's; `types` are read in addition to Gateway API's and the policy kinds'. With `follow` they read
    changes. With `empty` the engine has no objects, only the shipped Rego. `queries` are those that the command may
    send: a temporary OPA for manifests without Rego has only the rules that they reach; by default it has all.

    Raises ManifestError for a missing path, KubeError for a cluster that does not respond, OpaError if OPA cannot be
    reached or started, ToolError if no `opa` is available.
    """
    if opa_url:
        async with Opa(opa_url, token=token, tls=tls) as opa:
            yield Engine(opa)
        return
    if manifests or empty:
        source = ManifestSource(manifests, follow=follow)
        source.check_paths()  # a wrong path is reported before an `opa` is installed
        async with AsyncExitStack() as stack:
            # Most folders have no Rego: OPA compiles the shipped modules during the read.
            has_rego = await asyncio.to_thread(source.mentions, MARKS)
            reach = None if queries is None or has_rego else {*queries, *QUERIES_OF_SYNC}
            shipped = (await settle_manifests((), reach)).bundle
            starting = None
            if not has_rego:
                starting = await stack.enter_async_context(_starting(shipped))
            if not follow:
                stack.enter_context(without_collector())  # the command ends soon
            with without_collector():
                objects = await asyncio.to_thread(source.load)
            found = await settle_manifests(objects, reach)
            if starting is None or found.bundle != shipped:
                starting = await stack.enter_async_context(_starting(found.bundle))
            opa, changed = await stack.enter_async_context(_filled_from(source, starting, types))
            yield Engine(
                opa,
                [*source.problems, *troubles(found, source.position)],
                position=source.position,
                changed=changed,
                empty=not objects and not empty,
                settled=found,
            )
        return
    # Imported here because manifests do not need it, and the Kubernetes library costs half a second.
    from bridge.kube.client import KubeClient
    from bridge.sources.cluster import ClusterSource

    async with await KubeClient.connect(kubeconfig, kube_context) as client:
        await client.get("/version", timeout=PATIENCE)  # a source waits for an unavailable server; a command does not
        found = await settle_cluster(client)
        tracked = _SourceWithProblems(ClusterSource(client))
        async with _starting(found.bundle) as starting, _filled_from(tracked, starting, types) as (opa, changed):
            yield Engine(
                opa,
                tracked.problems,
                # Rejected Rego of another team must not fail a reader.
                troubles(found),
                replicated=(*ALWAYS, *types),
                changed=changed,
                settled=found,
                events=lambda key: _events_of(client, key),
            )


async def _events_of(client: KubeClient, key: Key) -> list[dict[str, Any]]:
    """Return the Events about a cluster's object, the oldest first: `{type, reason, message, count, last, from}`."""
    from bridge.kube.errors import KubeError

    namespace = "default" if key.namespace == CLUSTER else key.namespace  # Events of cluster-scoped objects are here
    selector = f"involvedObject.kind={key.kind},involvedObject.name={key.name}"
    try:
        answer = await client.get(f"/api/v1/namespaces/{namespace}/events", {"fieldSelector": selector, "limit": "100"})
    except KubeError:
        return []  # users without permission to list Events still get the rest
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
    """Start a temporary OPA with a bundle, stopped at the end; the task returns its URL once it responds."""
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
    """Yield an OPA with the objects of a source, and a function that waits for a change of these."""
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
    """A source that remembers why it delivers no objects of a served type, or why it rejects an object."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._troubles: dict[str, Trouble] = {}

    @property
    def problems(self) -> list[Trouble]:
        """Return the reported problems, by type."""
        return [self._troubles[subject] for subject in sorted(self._troubles)]

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver these types from now on."""
        self._source.want(type_ids)

    def relist(self) -> None:
        """Deliver everything again."""
        self._source.relist()

    async def changes(self) -> AsyncIterator[Change]:
        """Yield the source's changes."""
        async for change in self._source.changes():
            if isinstance(change, Trouble) and not change.absent:
                self._troubles[change.subject] = change
            elif isinstance(change, Rejected):
                self._troubles[str(change.key)] = Trouble(str(change.key), change.reason)
            elif isinstance(change, Listed):
                self._troubles.pop(change.type_id, None)
            yield change
