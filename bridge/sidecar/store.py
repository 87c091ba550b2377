"""The source of objects and the sink of statuses: a cluster or a folder of manifests, behind one class."""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any

import structlog

from bridge.kube import kube_errors
from bridge.kube.kube_client import KubeClient, patch_object, read_object
from bridge.kube.lease import FencedClient, Lease
from bridge.kube.recording import Recorder
from bridge.kube.report_client import ReportClient
from bridge.model.changes import Notice, Source, Trouble
from bridge.model.keys import Key
from bridge.model.observability import EventType
from bridge.model.types import ResourceType, plural_by_rule
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.reporter import Reporter, announce
from bridge.policy_loader.submissions import CONFIG_MAP, config_maps_in
from bridge.remediator.write_loop import Gone, MemorySink, Names, Patch, StatusSink, WriteConflict, WriteRefused
from bridge.settings.model import Settings
from bridge.sources.cluster import ClusterSource
from bridge.sources.manifests import ManifestSource

log = structlog.get_logger(__name__)

COMPONENT = "policybridge.io/bridge"  # the reporter of Events


class Store:
    """The source of objects and the sink of statuses: a cluster, or a folder of manifests.

    `writes`: this bridge, or another one with its Lease, writes to the sink. `policies` is the source of policy
    authors' objects, None if these are among the objects of `source`. `cluster`, `events` and `reports` are None for a
    folder, and `manifests` for a cluster. `plural` returns the plural name of a type, `<group>/<Kind>`.
    """

    name: str
    source: Source
    sink: StatusSink
    writes: bool = True
    policies: Source | None = None
    cluster: FencedClient | None = None
    manifests: ManifestSource | None = None
    events: Recorder | None = None
    reports: ReportClient | None = None
    plural: Callable[[str], str] = staticmethod(plural_by_rule)

    async def run(self) -> None:
        """Do the store's own work, in addition to its source, until cancelled."""

    async def resign(self) -> None:
        """Stop writing; another bridge may start when this returns."""

    def report_policies(self, authors: Authors) -> Coroutine[None, None, None]:
        """Report the state of their objects to policy authors, until cancelled."""
        raise NotImplementedError

    def record(self, regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
        """Report on an object (apiVersion, kind and metadata are read) to users: as an Event, or in the log."""
        raise NotImplementedError

    def rediscover(self, _: Notice) -> None:
        """Discover types again after a change of a CRD, or a sync, which names no changes."""

    def problems(self) -> list[Trouble]:
        """Return the unreadable parts of the source, unless they are logged."""
        return []

    def listings(self) -> Mapping[str, int]:
        """Return the number of lists of whole types, by reason."""
        return {}


@contextlib.asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """Open the store that the settings name. Raises KubeError or ManifestError if that fails."""
    if settings.manifests:
        yield FolderStore(settings.manifests)
        return
    async with await KubeClient.connect(settings.kubeconfig, settings.context) as client:
        yield ClusterStore(client, settings)


class FolderStore(Store):
    """Files of manifests. Statuses stay in memory. Raises ManifestError for a path that does not exist."""

    def __init__(self, manifests: Sequence[str]) -> None:
        self.name = ", ".join(manifests)
        self.source = self.manifests = self._manifests = ManifestSource(manifests, follow=True)
        self._manifests.check_paths()  # a wrong path is an error before anything starts
        self.sink = MemorySink()

    def report_policies(self, authors: Authors) -> Coroutine[None, None, None]:
        """Log the state of policy authors' objects."""
        return _log_policies(authors)

    def record(self, regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
        """Log it."""
        _log_event(regarding, event_type, reason, message)

    def problems(self) -> list[Trouble]:
        """Return the files and documents that cannot be read."""
        return list(self._manifests.problems)


async def _log_policies(authors: Authors) -> None:
    """Log the state of policy authors' objects."""
    announce(authors, _log_event)


def _log_event(regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
    tell = log.warning if event_type == "Warning" else log.info
    metadata = regarding.get("metadata") or {}
    names = (regarding.get("kind"), metadata.get("namespace"), metadata.get("name"))
    tell(message, reason=reason, object="/".join(str(name) for name in names if name))


MARKED = "policybridge.io/marked"  # annotation of the Lease: the names of marks on objects, as JSON


def read_marked(annotations: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the names of marks in a Lease's annotations; none if they are invalid."""
    try:
        names = json.loads(annotations.get(MARKED, "[]"))
        return [{"controllerName": str(name["controllerName"]), "kind": str(name["kind"])} for name in names]
    except (ValueError, TypeError, KeyError):
        return []


class ClusterSink:
    """A StatusSink for an API server. `resource` returns how a type is served; only the holder of the Lease writes."""

    def __init__(self, client: KubeClient, resource: Callable[[str], ResourceType | None], lease: Lease) -> None:
        self._client = client
        self._resource = resource
        self._lease = lease

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:
        """Patch the status subresource, or the object's metadata, from the version that the patch was computed from."""
        resource = self._resource(key.type_id)
        if resource is None:
            raise Gone(f"{key.type_id} is not served")
        try:
            await patch_object(
                self._client,
                resource,
                key,
                patch,
                subresource="status" if "status" in patch else None,
                resource_version=resource_version,
            )
        except kube_errors.NotFound as error:
            if "status" in patch and await self._exists(resource, key):
                raise WriteRefused(
                    f"the CRD of {resource.plural}.{resource.group} has no subresource status in {resource.version}: "
                    "add `subresources: {status: {}}` to that version"
                ) from error
            raise Gone(str(error)) from error
        except kube_errors.Conflict as error:
            raise WriteConflict(str(error)) from error
        except kube_errors.Forbidden as error:
            what = f"{resource.name}/status" if "status" in patch else resource.name
            raise WriteRefused(
                f"patching {what} is forbidden: grant the bridge patch on them ({error.message})"
            ) from error
        except kube_errors.KubeError as error:
            raise WriteRefused(str(error)) from error

    async def _exists(self, resource: ResourceType, key: Key) -> bool:
        with contextlib.suppress(kube_errors.KubeError):
            await read_object(self._client, resource, key)
            return True
        return False

    def overlay(self, key: Key, current: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002 - the cluster reports it
        """Return the object unchanged: a written status comes back as a change."""
        return current

    def may_write(self) -> bool:
        """Return whether the Lease is held."""
        return self._lease.held

    def recall(self) -> Sequence[Names]:
        """Return the names in the Lease's annotation."""
        return read_marked({**self._lease.noted, **self._lease.notes})

    def remember(self, names: Sequence[Names]) -> None:
        """Write the value to the Lease, which lives as long as marks may exist, with its next renewal."""
        self._lease.notes[MARKED] = json.dumps(list(names))


class ClusterStore(Store):
    """An API server. The holder of the Lease writes; all writes except the Lease itself and Events depend on it.

    With the setting `read_only` the bridge never acquires the Lease, and logs Events instead.
    """

    def __init__(self, client: KubeClient, settings: Settings) -> None:
        self._client = client
        self._objects = ClusterSource(client, {one.type: one.selection for one in settings.selected_types})
        # A separate watch: objects of policy authors are replicated only if a setting names them.
        self._authored = ClusterSource(client, {CONFIG_MAP: config_maps_in(settings.policy_namespaces)})
        identity = f"{socket.gethostname()}-{os.getpid()}"
        self._lease = Lease(client, settings.lease_namespace, settings.lease_name, identity, on_change=LeaseNews())
        self._leading: asyncio.Task[None] | None = None
        self._writing = FencedClient(client, self._lease)
        self._recorder = Recorder(client, COMPONENT)
        self.name = client.server
        self.writes = not settings.read_only
        self.source = self._objects
        self.policies = self._authored
        self.sink = ClusterSink(self._writing, self._objects.resource, self._lease)
        self.cluster = self._writing
        self.events = self._recorder
        self.reports = ReportClient(self._writing)
        self.plural = self._authored.plural

    async def run(self) -> None:
        """Keep the Lease and write Events."""
        if not self.writes:
            log.info("nothing is written to the cluster", why="read_only")
            return
        async with asyncio.TaskGroup() as tasks:
            self._leading = tasks.create_task(self._lease.run())
            tasks.create_task(self._recorder.run())

    async def resign(self) -> None:
        """Stop writing and release the Lease."""
        self._lease.resign()
        await self._client.wait_for_writes()  # a write in progress must not arrive after those of the next holder
        if self._leading:
            self._leading.cancel()
            await asyncio.wait({self._leading})

    def report_policies(self, authors: Authors) -> Coroutine[None, None, None]:
        """Write the state of policy authors' objects."""
        if not self.writes:
            return _log_policies(authors)
        return Reporter(authors, self._writing, self._authored.resource, self.record).run()

    def record(self, regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
        """Record an Event."""
        if not self.writes:
            _log_event(regarding, event_type, reason, message)
            return
        self._recorder.record(regarding, event_type, reason, message)

    def rediscover(self, _: Notice) -> None:
        """Discover types again, in both sources."""
        self._objects.rediscover()
        self._authored.rediscover()

    def listings(self) -> Mapping[str, int]:
        """Return the lists of both sources."""
        return self._objects.listings + self._authored.listings


class LeaseNews:
    """Logs changes of a Lease: whether it is held, and why it cannot be acquired."""

    def __init__(self) -> None:
        self._held = False
        self._other = ""  # the other holder
        self._trouble: str | None = None

    def __call__(self, lease: Lease) -> None:
        """Log a change."""
        if lease.held != self._held:
            self._held = lease.held
            if lease.held:
                log.info("status writes started", lease=f"{lease.namespace}/{lease.name}")
            else:
                log.info("status writes stopped", holder=lease.holder or "none")
        elif not lease.held and lease.holder not in {"", lease.identity, self._other}:
            which = f"{lease.namespace}/{lease.name}"
            log.info("Lease held by another bridge", lease=which, holder=lease.holder)
        self._other = "" if lease.held else lease.holder
        if lease.trouble != self._trouble:
            self._trouble = lease.trouble
            if lease.trouble:
                log.warning("Lease acquisition failed", why=lease.trouble)
