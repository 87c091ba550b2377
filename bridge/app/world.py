"""The two worlds: a cluster and a folder of manifests, each a source of changes and a sink of statuses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from bridge.model.changes import Trouble
from bridge.model.keys import Key
from bridge.model.notice import Notice
from bridge.model.recording import EventType, Record
from bridge.model.types import regular_plural
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.objects import CONFIG_MAP, config_maps_in
from bridge.policy_loader.reports import Announcer
from bridge.remediator.sink import MemorySink, StatusSink
from bridge.settings.model import Settings
from bridge.sources.base import Source
from bridge.sources.manifest_files import STDIN, find_files
from bridge.sources.manifests import ManifestSource

if TYPE_CHECKING:
    from bridge.kube.client import KubeClient
    from bridge.kube.lease import Lease
    from bridge.kube.recording import Recorder

log = structlog.get_logger(__name__)

COMPONENT = "policybridge.io/bridge"  # who Events are from


@dataclass(frozen=True, slots=True)
class Cluster:
    """The API server behind a world: `held` tells whether this bridge is the one that writes there."""

    client: KubeClient
    held: Callable[[], bool]


def plural_by_rule(type_id: str) -> str:
    """The plural name that a type has where nobody says otherwise."""
    return regular_plural(type_id.partition("/")[2])


async def _nothing() -> None:
    """A folder needs no work beside its source."""


@dataclass(slots=True)
class World:
    """Where objects come from and statuses go to. `run` is what the world itself has to do meanwhile.

    `record` tells of an object where a person looks: as an Event of a cluster, or in the log. `policies` is where
    authors' objects come from (None: they are among those of `source`), and `tell` keeps the authors informed.
    A folder is no `cluster`. `resign` ends writing, for good: once it is back, another bridge may begin.
    """

    name: str
    source: Source
    sink: StatusSink
    run: Callable[[], Coroutine[None, None, None]]
    record: Record
    tell: Callable[[Authors], Coroutine[None, None, None]] = lambda _: _nothing()
    policies: Source | None = None
    noticed: Callable[[Notice], None] = lambda _: None
    position: Callable[[Key], tuple[str, int] | None] = lambda _: None
    problems: Callable[[], list[Trouble]] = list
    cluster: Cluster | None = None
    resign: Callable[[], Coroutine[None, None, None]] = _nothing
    plural: Callable[[str], str] = plural_by_rule  # the plural name of a type, `<group>/<Kind>`
    listings: Callable[[], Mapping[str, int]] = dict  # how many of whole types were made, by why
    events: Recorder | None = None


@contextlib.asynccontextmanager
async def open_world(settings: Settings) -> AsyncIterator[World]:
    """The world that the settings name. Raises KubeError or ManifestError where it cannot be had."""
    if settings.manifests:
        yield _folder(settings)
        return
    async with _cluster(settings) as world:
        yield world


def _folder(settings: Settings) -> World:
    for path in settings.manifests:
        if path != STDIN:
            find_files(Path(path))  # a wrong path is told before anything has started
    source = ManifestSource(settings.manifests, follow=True)
    name = ", ".join(settings.manifests)
    return World(
        name,
        source,
        MemorySink(),
        _nothing,
        _record_in_log,
        lambda authors: Announcer(authors, _record_in_log).run(),
        position=source.position,
        problems=lambda: list(source.problems),
    )


def _record_in_log(regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
    tell = log.warning if event_type == "Warning" else log.info
    metadata = regarding.get("metadata") or {}
    names = (regarding.get("kind"), metadata.get("namespace"), metadata.get("name"))
    tell(message, reason=reason, object="/".join(str(name) for name in names if name))


@contextlib.asynccontextmanager
async def _cluster(settings: Settings) -> AsyncIterator[World]:
    # Imported here because a folder needs none of it, and the Kubernetes library costs half a second.
    from bridge.app.cluster_sink import ClusterSink
    from bridge.kube.client import KubeClient
    from bridge.kube.fencing import FencedClient
    from bridge.kube.lease import Lease
    from bridge.kube.recording import Recorder
    from bridge.policy_loader.reporter import Reporter
    from bridge.sources.cluster import ClusterSource

    async with await KubeClient.connect(settings.kubeconfig, settings.context) as client:
        source = ClusterSource(client, {one.type: one.selection for one in settings.selected_types})
        identity = f"{socket.gethostname()}-{os.getpid()}"
        lease = Lease(client, settings.lease_namespace, settings.lease_name, identity, on_change=LeaseNews())
        writing = FencedClient(client, lease)  # everything but the Lease itself, and Events
        sink = ClusterSink(writing, source.resource, lease)
        recorder = Recorder(client, COMPONENT)
        # A watch of its own: what authors write is not replicated, unless it is asked for.
        policies = ClusterSource(client, {CONFIG_MAP: config_maps_in(settings.policy_namespaces)})

        def noticed(notice: Notice) -> None:
            if any(key.kind == "CustomResourceDefinition" for key in notice.keys):
                source.rediscover()
                policies.rediscover()

        def tell(authors: Authors) -> Coroutine[None, None, None]:
            return Reporter(authors, writing, policies.resource, lambda: lease.held, recorder.record).run()

        leading: list[asyncio.Task[None]] = []

        async def run() -> None:
            async with asyncio.TaskGroup() as tasks:
                leading.append(tasks.create_task(lease.run()))
                tasks.create_task(recorder.run())

        async def resign() -> None:
            lease.resign()
            await client.quiet()  # what is being written must not arrive after what the next holder writes
            for task in leading:
                task.cancel()
                await asyncio.wait({task})

        def plural(type_id: str) -> str:
            resource = policies.resource(type_id)
            return resource.plural if resource else plural_by_rule(type_id)

        cluster = Cluster(writing, lambda: lease.held)
        yield World(
            client.server,
            source,
            sink,
            run,
            recorder.record,
            tell,
            policies,
            noticed,
            cluster=cluster,
            resign=resign,
            plural=plural,
            listings=lambda: source.listings + policies.listings,
            events=recorder,
        )


class LeaseNews:
    """Tells in the log what has changed of a Lease: whether it is held, and what keeps it from being held."""

    def __init__(self) -> None:
        self._held = False
        self._other = ""  # who else was told to hold it
        self._trouble: str | None = None

    def __call__(self, lease: Lease) -> None:
        """Called after any change."""
        if lease.held != self._held:
            self._held = lease.held
            if lease.held:
                log.info("writes statuses", lease=f"{lease.namespace}/{lease.name}")
            else:
                log.info("does not write statuses any more", holder=lease.holder or "nobody")
        elif not lease.held and lease.holder not in {"", lease.identity, self._other}:
            which = f"{lease.namespace}/{lease.name}"
            log.info("another bridge writes statuses, until it stops", lease=which, holder=lease.holder)
        self._other = "" if lease.held else lease.holder
        if lease.trouble != self._trouble:
            self._trouble = lease.trouble
            if lease.trouble:
                log.warning("the Lease cannot be taken", why=lease.trouble)
