"""Statuses of a cluster: patched through the API server, only by the holder of the Lease."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridge.kube import errors
from bridge.kube.client import KubeClient, patch_object, read_object
from bridge.kube.lease import Lease
from bridge.model.keys import Key
from bridge.model.types import ResourceType
from bridge.remediator.writer import Gone, Names, Patch, WriteConflict, WriteRefused

MARKED = "policybridge.io/marked"  # annotation of the Lease: the names of marks on objects, as JSON


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
        except errors.NotFound as error:
            if "status" in patch and await self._exists(resource, key):
                raise WriteRefused(
                    f"the CRD of {resource.plural}.{resource.group} has no subresource status in {resource.version}: "
                    "add `subresources: {status: {}}` to that version"
                ) from error
            raise Gone(str(error)) from error
        except errors.Conflict as error:
            raise WriteConflict(str(error)) from error
        except errors.Forbidden as error:
            what = resource.plural if resource.group == "core" else f"{resource.plural}.{resource.group}"
            what = f"{what}/status" if "status" in patch else what
            raise WriteRefused(
                f"patching {what} is forbidden: grant the bridge patch on them ({error.message})"
            ) from error
        except errors.KubeError as error:
            raise WriteRefused(str(error)) from error

    async def _exists(self, resource: ResourceType, key: Key) -> bool:
        with contextlib.suppress(errors.KubeError):
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
        """Return the value of the Lease's annotation; empty if it is invalid."""
        try:
            names = json.loads({**self._lease.noted, **self._lease.notes}.get(MARKED, "[]"))
            return [{"controllerName": str(name["controllerName"]), "kind": str(name["kind"])} for name in names]
        except (ValueError, TypeError, KeyError):
            return []

    def remember(self, names: Sequence[Names]) -> None:
        """Write the value to the Lease, which lives as long as marks may exist, with its next renewal."""
        self._lease.notes[MARKED] = json.dumps(list(names))
