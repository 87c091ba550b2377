"""Reading and patching one object of a real API server."""

from typing import Any

import pytest

from bridge.kube.client import KubeClient, patch_object, patch_parts, read_object
from bridge.kube.errors import Conflict, Invalid, NotFound
from bridge.model.keys import Key
from tests.controlplane.plane import ControlPlane
from tests.integration.objects import CONFIG_MAPS, put_config_map


@pytest.fixture
async def config_map(control_plane: ControlPlane, namespace: str) -> tuple[Key, dict[str, Any]]:
    """A ConfigMap with data `{a: 1, b: 2}`."""
    obj = await put_config_map(control_plane.api, namespace, "one", {"a": "1", "b": "2"})
    return Key("core", "ConfigMap", namespace, "one"), obj


async def test_a_patch_from_an_old_state_is_a_conflict(
    client: KubeClient, config_map: tuple[Key, dict[str, Any]]
) -> None:
    key, before = config_map
    operations = [{"op": "replace", "path": "/data/a", "value": "3"}]
    version = before["metadata"]["resourceVersion"]
    await patch_object(client, CONFIG_MAPS, key, {"data": {"a": "2"}}, resource_version=version)
    with pytest.raises(Conflict):
        await patch_object(client, CONFIG_MAPS, key, {"data": {"a": "3"}}, resource_version=version)
    with pytest.raises(Conflict):
        await patch_parts(client, CONFIG_MAPS.object_path(key.namespace, key.name), operations, version)


async def test_a_patch_that_changes_nothing_makes_no_new_version(
    client: KubeClient, config_map: tuple[Key, dict[str, Any]]
) -> None:
    key, _ = config_map
    first = await patch_object(client, CONFIG_MAPS, key, {"data": {"a": "1"}})
    second = await patch_object(client, CONFIG_MAPS, key, {"data": {"a": "1"}})
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def test_a_patch_of_a_deleted_object_is_not_found(
    client: KubeClient, config_map: tuple[Key, dict[str, Any]]
) -> None:
    key, _ = config_map
    gone = Key("core", "ConfigMap", key.namespace, "gone")
    with pytest.raises(NotFound):
        await read_object(client, CONFIG_MAPS, gone)
    with pytest.raises(NotFound):
        await patch_object(client, CONFIG_MAPS, gone, {"data": {}})
    with pytest.raises(NotFound):
        await patch_object(client, CONFIG_MAPS, key, {"status": {}}, subresource="status")


async def test_a_patch_to_an_invalid_object_is_invalid(
    client: KubeClient, config_map: tuple[Key, dict[str, Any]]
) -> None:
    key, _ = config_map
    with pytest.raises(Invalid, match="a b"):
        await patch_object(client, CONFIG_MAPS, key, {"data": {"a b": "no such key is allowed"}})
