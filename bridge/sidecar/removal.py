"""Finds and removes everything that bridges have written into a cluster, without a bridge or its CRDs.

The Lease is held meanwhile, so no bridge writes, and is removed last.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from bridge.kube.discovery import Discovery
from bridge.kube.kube_client import FIELD_MANAGER, KubeClient, patch_object, patch_parts, read_object, read_pages
from bridge.kube.kube_errors import Conflict, Invalid, KubeError, NotFound
from bridge.kube.lease import LONGEST_DURATION, Lease
from bridge.kube.report_client import FORMS, LABEL
from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.model.types import POLICY_KIND, ResourceType
from bridge.opa.client import Opa
from bridge.remediator.plan import Traces, plan_removal, without_nulls
from bridge.sidecar.store import read_marked
from bridge.work import PAUSE, beside

REPORTS = frozenset(one for form in FORMS for one in form)
ATTEMPTS = 5  # for an object that other writers change meanwhile
# Events expire, and of Leases only the bridge's own is written, which is removed last.
_PASSED_OVER = {"core/Event", "events.k8s.io/Event", "coordination.k8s.io/Lease"}
_WITHOUT_STATUS = {"core/Secret", "core/ConfigMap"}  # types whose contents the bridge must not read


@dataclass(frozen=True, slots=True)
class TracedObject:
    """An object that a bridge has written into, and the traces."""

    resource: ResourceType
    key: Key
    obj: Object
    traces: Traces


@dataclass(slots=True)
class Removal:
    """Finds traces, and removes them. `lease` is the Lease of the bridges, None if there is none.

    `unseen` has the reason for each type, or other item, that could not be checked.
    """

    client: KubeClient
    opa: Opa
    lease: Object | None
    unseen: dict[str, str] = field(default_factory=dict)
    _former: list[dict[str, str]] = field(default_factory=list, init=False)

    async def look(self) -> list[TracedObject]:
        """Return everything that a bridge has written, webhook configurations first. Raises KubeError, OpaError."""
        discovery = Discovery(self.client)
        await discovery.refresh()
        self.unseen = {f"{group}/*": "its API server does not respond" for group in discovery.unknown_groups}
        types = discovery.types
        annotations = ((self.lease or {}).get("metadata") or {}).get("annotations") or {}
        self._former = [*read_marked(annotations), *await self._read_described(types.get(POLICY_KIND))]
        found: list[TracedObject] = []
        for type_id in sorted(types.keys() - _PASSED_OVER):
            try:
                hidden = type_id in _WITHOUT_STATUS
                async for objects in read_pages(self.client, types[type_id], only_metadata=hidden):
                    found += await self._find_traces(types[type_id], objects)
            except NotFound:
                continue
            except KubeError as error:
                self.unseen[type_id] = str(error)
        return sorted(found, key=lambda one: ("webhooks" not in one.traces, str(one.key)))

    async def take_back(self, found: TracedObject) -> str:
        """Remove the traces in one object; return why some remain, empty if none do."""
        why = ""
        for _ in range(ATTEMPTS):
            try:
                await self._take_back(found)
            except NotFound:
                return ""
            except Conflict as error:
                why = str(error)
                again = await self._read_again(found)
                if again is None:
                    return ""
                found = again
            except KubeError as error:
                return str(error)
            else:
                return ""
        return why

    async def _take_back(self, found: TracedObject) -> None:
        path = found.resource.object_path(found.key.namespace, found.key.name)
        if "report" in found.traces:
            await self.client.delete(path)
            return
        if "webhooks" in found.traces:
            version = found.obj["metadata"]["resourceVersion"]
            await patch_parts(self.client, path, _webhook_patch(found), version)
            return
        version = found.obj["metadata"]["resourceVersion"]
        for patch in plan_removal(found.obj, found.traces):
            subresource: Literal["status"] | None = "status" if "status" in patch else None
            try:
                written = await self._patch(found, patch, subresource, version)
            except Invalid:
                if patch.get("status") is None and "status" not in found.traces:
                    patch["status"] = dict.fromkeys(found.obj["status"])
                written = await self._patch(found, without_nulls(patch), subresource, version)
            version = written["metadata"]["resourceVersion"]

    async def _patch(
        self, found: TracedObject, patch: Mapping[str, Any], subresource: Literal["status"] | None, version: str
    ) -> Object:
        return await patch_object(
            self.client, found.resource, found.key, patch, subresource=subresource, resource_version=version
        )

    async def _read_again(self, found: TracedObject) -> TracedObject | None:
        try:
            obj = await read_object(self.client, found.resource, found.key)
        except NotFound:
            return None
        now = await self._find_traces(found.resource, [obj])
        return now[0] if now else None

    async def _find_traces(self, resource: ResourceType, objects: Iterable[Object]) -> list[TracedObject]:
        # Items of a list of a built-in type do not name their type.
        typed = {"apiVersion": resource.api_version, "kind": resource.kind}
        by_key = {str(key_of({**obj, **typed})): {**obj, **typed} for obj in objects}
        if resource in REPORTS:
            own = [obj for obj in by_key.values() if LABEL in (obj["metadata"].get("labels") or {}).items()]
            return [TracedObject(resource, key_of(obj), obj, {"report": []}) for obj in own]
        if not by_key:
            return []
        query_input = {"objects": list(by_key.values()), "former": self._former, "manager": FIELD_MANAGER}
        answer = await self.opa.query("traces", query_input)
        return [TracedObject(resource, key_of(by_key[key]), by_key[key], traces) for key, traces in answer.items()]

    async def _read_described(self, resource: ResourceType | None) -> list[dict[str, str]]:
        """Return the names under which the existing PolicyKinds let a bridge write."""
        names: list[dict[str, str]] = []
        if resource is None:
            return names
        try:
            async for page in read_pages(self.client, resource):
                for spec in (obj.get("spec") or {} for obj in page):
                    if spec.get("mode") == "Manage" and spec.get("controllerName") and spec.get("kind"):
                        named = {name: str(spec.get(name) or "") for name in ("group", "kind", "controllerName")}
                        names.append(named)
        except KubeError as error:
            self.unseen[POLICY_KIND] = str(error)
        return names


def _webhook_patch(found: TracedObject) -> list[dict[str, Any]]:
    """Return the initial failurePolicy, so nothing waits for a removed bridge, and no caBundle."""
    operations: list[dict[str, Any]] = []
    for left in found.traces["webhooks"]:
        place = f"/webhooks/{left['index']}"
        if "failurePolicy" in left["fields"]:
            operations.append({"op": "add", "path": f"{place}/failurePolicy", "value": "Ignore"})
        if "caBundle" in left["fields"]:
            operations.append({"op": "remove", "path": f"{place}/clientConfig/caBundle"})
    return operations


TAKING = 20.0  # seconds in which a free Lease must be acquired


class StillWritingError(Exception):
    """A bridge is running, which would write everything again."""


async def find_lease_namespaces(client: KubeClient, name: str) -> list[str]:
    """Return the namespaces that have a Lease of this name. Raises KubeError."""
    found = await client.get("/apis/coordination.k8s.io/v1/leases", {"fieldSelector": f"metadata.name={name}"})
    return sorted(one["metadata"]["namespace"] for one in found["items"])


async def read_lease(client: KubeClient, namespace: str, name: str) -> dict[str, Any] | None:
    """Return the Lease; None if there is none. Raises KubeError."""
    try:
        found: dict[str, Any] = await client.get(_path(namespace, name))
    except NotFound:
        return None
    return found


def holder_of(lease: dict[str, Any] | None) -> str:
    """Return the holder in its spec; empty if there is none."""
    return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")


async def insist_on_none(client: KubeClient, namespace: str, name: str, tell: Callable[[str], None]) -> None:
    """Return once it is certain that no bridge holds the Lease. Raises StillWritingError.

    A killed bridge is still the holder: the function waits until it should have renewed the Lease.
    """
    lease = await read_lease(client, namespace, name)
    holder = holder_of(lease)
    if not holder or lease is None:
        return
    renewed, duration = lease["spec"].get("renewTime"), float(lease["spec"].get("leaseDurationSeconds") or 15)
    duration = min(duration, LONGEST_DURATION)
    tell(f"checks for at most {duration:g} seconds whether {holder} still renews the Lease {namespace}/{name}")
    until = time.monotonic() + duration
    while time.monotonic() < until:
        await asyncio.sleep(PAUSE)
        lease = await read_lease(client, namespace, name)
        if not holder_of(lease):
            return
        if lease is not None and lease["spec"].get("renewTime") != renewed:
            raise StillWritingError(
                f"{holder_of(lease)} holds the Lease {namespace}/{name}, and would write everything again: stop the "
                "bridges first (helm uninstall, or kubectl scale deployment --replicas=0), then run this again"
            )


@asynccontextmanager
async def held(client: KubeClient, namespace: str, name: str) -> AsyncIterator[None]:
    """Hold the Lease, if there is one, so no bridge starts to write meanwhile. Raises StillWritingError."""
    if await read_lease(client, namespace, name) is None:
        yield
        return
    lease = Lease(client, namespace, name, f"uninstall-status-{socket.gethostname()}-{os.getpid()}")
    async with beside(lease.run()):
        try:
            await asyncio.wait_for(lease.taken.wait(), TAKING)
        except TimeoutError:
            why = lease.trouble or f"{lease.holder} took it first"
            raise StillWritingError(f"the Lease {namespace}/{name} cannot be acquired: {why}") from None
        yield


async def delete_lease(client: KubeClient, namespace: str, name: str) -> None:
    """Delete the Lease, unless a bridge holds it. Raises KubeError."""
    lease = await read_lease(client, namespace, name)
    if lease is not None and not holder_of(lease):
        await client.delete(_path(namespace, name))


def _path(namespace: str, name: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
