"""Objects that tests of the API server make, by paths of their own."""

import asyncio
import itertools
import os
from typing import Any

from bridge.model.types import ResourceType
from tests.controlplane.api import ApiServer

CONFIG_MAPS = ResourceType("core", "v1", "ConfigMap", "configmaps", namespaced=True)

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_counter = itertools.count(1)


def fresh_name(prefix: str) -> str:
    """A name that no other test uses."""
    return f"{prefix}-{os.getpid()}-{next(_counter)}"


async def make_namespace(api: ApiServer) -> str:
    """A new namespace."""
    name = fresh_name("space")
    await asyncio.to_thread(api.request, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    return name


async def put_config_map(api: ApiServer, namespace: str, name: str, data: dict[str, str]) -> Any:
    """Create or change a ConfigMap."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return await asyncio.to_thread(api.apply, f"/api/v1/namespaces/{namespace}/configmaps/{name}", body)


async def delete_config_map(api: ApiServer, namespace: str, name: str) -> None:
    """Delete a ConfigMap."""
    await asyncio.to_thread(api.request, "DELETE", f"/api/v1/namespaces/{namespace}/configmaps/{name}")


async def put_config_maps(api: ApiServer, namespace: str, count: int, prefix: str = "map") -> list[str]:
    """Create many ConfigMaps, a few at a time."""
    names = [f"{prefix}-{number:04}" for number in range(count)]
    room = asyncio.Semaphore(8)

    async def put(name: str) -> None:
        async with room:
            await put_config_map(api, namespace, name, {"name": name})

    await asyncio.gather(*map(put, names))
    return names


def crd(
    plural: str,
    kind: str,
    *,
    group: str = "things.example.com",
    versions: tuple[str, ...] = ("v1",),
    scope: str = "Namespaced",
) -> Any:
    """A CRD with any fields; the first version is the stored one."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[0],
                    "schema": schema,
                    "subresources": {"status": {}},
                }
                for version in versions
            ],
        },
    }


async def apply_crd(api: ApiServer, body: Any, *, wait: bool = True) -> None:
    """Apply a CRD, and by default wait until it is served."""
    name = body["metadata"]["name"]
    await asyncio.to_thread(api.apply, f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", body)
    if wait:
        await asyncio.to_thread(api.wait_for_crds, {name})


async def delete_crd(api: ApiServer, name: str) -> None:
    """Delete a CRD and, with it, its objects."""
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    await asyncio.to_thread(api.request, "DELETE", path)


async def grant_reading(api: ApiServer, *resources: tuple[str, str]) -> None:
    """Let the user `limited` get, list and watch these (group, plural), and nothing else."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "limited"},
        "rules": [
            {"apiGroups": [group], "resources": [plural], "verbs": ["get", "list", "watch"]}
            for group, plural in resources
        ],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "limited"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "limited"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}],
    }
    for plural, body in (("clusterroles", role), ("clusterrolebindings", binding)):
        await asyncio.to_thread(api.apply, f"{_RBAC}/{plural}/limited", body)


async def take_rights_away(api: ApiServer) -> None:
    """Undo `grant_reading`."""
    for plural in ("clusterrolebindings", "clusterroles"):
        await asyncio.to_thread(api.request, "DELETE", f"{_RBAC}/{plural}/limited")
