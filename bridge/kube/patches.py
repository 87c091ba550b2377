"""Read one object, and change it only from the state that the change was computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bridge.kube.client import JSON_PATCH, MERGE_PATCH, KubeClient
from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.types import ResourceType

FIELD_MANAGER = "policy-bridge"

Patch = Mapping[str, Any] | Sequence[Mapping[str, Any]]


async def read_object(client: KubeClient, resource: ResourceType, key: Key) -> Object:
    """Return the current object. Raises NotFound, or another KubeError."""
    answer: Object = await client.get(resource.object_path(key.namespace, key.name))
    return answer


async def patch_object(
    client: KubeClient,
    resource: ResourceType,
    key: Key,
    patch: Patch,
    *,
    subresource: Literal["status"] | None = None,
    resource_version: str | None = None,
) -> Object:
    """Change an object and return the result.

    `patch` is a JSON Merge Patch (a mapping, RFC 7386) or a JSON Patch (a list of operations, RFC 6902). With
    `resource_version` the API server rejects it if the object has changed since. A patch without changes keeps the
    resourceVersion.

    Raises Conflict if the object has changed, NotFound if it was deleted or has no such subresource, Invalid if the API
    server rejects the result, or another KubeError.
    """
    path = resource.object_path(key.namespace, key.name)
    if subresource:
        path = f"{path}/{subresource}"
    params = {"fieldManager": FIELD_MANAGER}
    merge = isinstance(patch, Mapping)
    body = _at_version(patch, resource_version) if resource_version else patch
    answer: Object = await client.patch(path, body, MERGE_PATCH if merge else JSON_PATCH, params)
    return answer


def _at_version(patch: Patch, resource_version: str) -> Patch:
    if isinstance(patch, Mapping):
        return {**patch, "metadata": {**(patch.get("metadata") or {}), "resourceVersion": resource_version}}
    # Not "test", whose failure is a 422 that looks like a wrong patch: a stale version in the result is a 409.
    return [{"op": "replace", "path": "/metadata/resourceVersion", "value": resource_version}, *patch]
