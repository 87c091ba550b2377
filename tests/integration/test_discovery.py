"""The resources that a real API server serves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bridge.kube import discovery
from bridge.kube.client import KubeClient
from bridge.kube.discovery import Discovery
from bridge.kube.errors import Garbled
from bridge.model.types import ResourceType
from tests.controlplane.plane import ControlPlane


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    async with await KubeClient.connect(control_plane.kubeconfig) as connected:
        yield connected


async def test_types_are_resolved_in_their_preferred_version(client: KubeClient) -> None:
    served = Discovery(client)
    await served.refresh()
    route, namespace, nothing = "gateway.networking.k8s.io/HTTPRoute", "core/Namespace", "nobody.example.com/Nothing"
    assert {type_id: served.types.get(type_id) for type_id in (route, namespace, nothing)} == {
        route: ResourceType("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes", namespaced=True),
        namespace: ResourceType("core", "v1", "Namespace", "namespaces", namespaced=False),
        nothing: None,
    }
    assert served.unknown_groups == frozenset()


async def test_an_older_server_is_an_error_that_names_the_needed_version(
    client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "_AGGREGATED", "application/json")  # an API server before 1.26 knows nothing else
    with pytest.raises(Garbled, match=r"the answer to /api is not that of Kubernetes 1.27 or newer"):
        await Discovery(client).refresh()
