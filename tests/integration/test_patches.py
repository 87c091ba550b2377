"""Reading and patching one object of a real API server."""

from typing import Any

import pytest

from bridge.kube.kube_client import KubeClient, patch_object, patch_parts
from bridge.kube.kube_errors import Conflict
from bridge.model.keys import Key
from tests.controlplane.plane import ControlPlane
from tests.integration.api_objects import CONFIG_MAPS, put_config_map


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
