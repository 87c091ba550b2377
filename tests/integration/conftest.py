"""What the tests against a real OPA and a real API server share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.kube.kube_client import KubeClient
from bridge.opa.process import ManagedOpa
from tests.controlplane.plane import LIMITED_TOKEN, ControlPlane
from tests.integration.api_objects import make_namespace
from tests.integration.faulty_opa import FaultyOpa
from tests.integration.proxy import Proxy
from tests.warm_opa import WarmOpa, sync_bundle


@pytest.fixture
async def opa(opa_path: Path) -> AsyncIterator[WarmOpa]:
    """An OPA with the shipped Rego, which a test does not stop."""
    async with WarmOpa(opa_path) as warm:
        yield warm


@pytest.fixture
async def cold_opa(opa_path: Path) -> AsyncIterator[ManagedOpa]:
    """An OPA with what a replicator queries, for a test that stops it."""
    async with ManagedOpa(opa_path, {}, bundle=sync_bundle()) as managed:
        yield managed


@pytest.fixture
async def faulty(opa: WarmOpa) -> AsyncIterator[FaultyOpa]:
    """The proxy before it, which fails as a test configures."""
    async with FaultyOpa(opa.url).serving() as proxy:
        yield proxy


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    """An admin's client of the shared API server."""
    async with await KubeClient.connect(control_plane.kubeconfig) as connected:
        yield connected


@pytest.fixture
async def limited(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[KubeClient]:
    """The client of a user that has only the rights that a test grants."""
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "limited", LIMITED_TOKEN)
    async with await KubeClient.connect(kubeconfig) as connected:
        yield connected


@pytest.fixture
async def proxy(control_plane: ControlPlane) -> AsyncIterator[Proxy]:
    """A proxy before the shared API server, with the faults of a network."""
    async with Proxy(control_plane.url) as between:
        yield between


@pytest.fixture
async def proxied(control_plane: ControlPlane, proxy: Proxy, tmp_path: Path) -> AsyncIterator[KubeClient]:
    """An admin's client that connects through `proxy`."""
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "through-proxy", control_plane.token, proxy.url)
    async with await KubeClient.connect(kubeconfig) as connected:
        yield connected


@pytest.fixture
async def namespace(control_plane: ControlPlane) -> str:
    """A new namespace of the shared API server."""
    return await make_namespace(control_plane.api)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch, opa_path: Path) -> list[ManagedOpa]:
    """Every start of an OPA."""
    monkeypatch.setenv("BRIDGE_OPA", str(opa_path))
    found: list[ManagedOpa] = []
    start = ManagedOpa.start

    async def counted(opa: ManagedOpa) -> str:
        found.append(opa)
        return await start(opa)

    monkeypatch.setattr(ManagedOpa, "start", counted)
    return found
