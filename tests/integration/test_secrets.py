"""Secrets are never replicated whole, whatever the settings ask for; and a secret is nowhere else either."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridge.kube.kube_client import KubeClient
from bridge.model.types import Fields
from bridge.opa.client import Opa
from bridge.replicator.replicator import Replicator
from bridge.sources.cluster import ClusterSource
from bridge.telemetry.logs import configure_logs
from tests.controlplane.plane import ControlPlane
from tests.integration.api_objects import make_namespace
from tests.warm_opa import WarmOpa
from tests.working import working

SECRET = "correct-horse-battery-staple"
ENCODED = base64.b64encode(SECRET.encode()).decode()
PATIENCE = 300.0


@pytest.mark.parametrize("fields", [Fields(None, ()), Fields(("/data", "/metadata"), None), Fields(None, None)])
async def test_of_a_secret_opa_has_its_name_and_type_alone(
    control_plane: ControlPlane, opa_path: Path, capfd: pytest.CaptureFixture[str], fields: Fields
) -> None:
    configure_logs("debug", "json")
    namespace = await make_namespace(control_plane.api)
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "password", "labels": {"app": "shop"}},
        "type": "example.com/password",
        "stringData": {"password": SECRET},
    }
    # What kubectl and tools like it write there is the object, data and all.
    body["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": json.dumps({**body, "metadata": {}}),
        "tool.example.com/last-applied": json.dumps({"data": {"password": ENCODED}}),
    }
    path = f"/api/v1/namespaces/{namespace}/secrets"
    await asyncio.to_thread(control_plane.api.request, "POST", path, body)
    async with (
        await KubeClient.connect(control_plane.kubeconfig) as client,
        WarmOpa(opa_path) as managed,
        Opa(managed.url) as opa,
    ):
        replicator = Replicator(
            ClusterSource(client), opa, ("core/Namespace", "core/Secret"), fields={"core/Secret": fields}
        )
        async with working(replicator.run):
            await asyncio.wait_for(replicator.filled.wait(), PATIENCE)
            found = await opa.get(f"objects/core/Secret/{namespace}/password")
            everything = msgspec.json.encode([await opa.get("objects"), await opa.get("index"), found]).decode()
    assert found is not None
    assert set(found) <= {"apiVersion", "kind", "metadata", "type"}
    assert not {"annotations", "managedFields"} & set(found["metadata"])
    assert found["metadata"]["name"] == "password"
    said = "".join(capfd.readouterr())
    for secret in (SECRET, ENCODED):
        assert secret not in everything
        assert secret not in said
