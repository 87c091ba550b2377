"""A client that writes only while a Lease is held: what has not been sent by its end is never sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.kube.client import KubeClient
from bridge.kube.errors import Fenced
from bridge.kube.fencing import FencedClient
from tests.controlplane.plane import ControlPlane
from tests.integration.objects import make_namespace, put_config_map
from tests.integration.proxy import Proxy


@pytest.fixture
async def proxy(control_plane: ControlPlane) -> AsyncIterator[Proxy]:
    async with Proxy(control_plane.url) as proxy:
        yield proxy


@pytest.fixture
async def client(control_plane: ControlPlane, proxy: Proxy, tmp_path: Path) -> AsyncIterator[KubeClient]:
    path = control_plane.write_kubeconfig(tmp_path / "kubeconfig", control_plane.token, proxy.url)
    async with await KubeClient.connect(path) as connected:
        yield connected


async def test_who_may_not_write_still_reads_and_sends_no_write(client: KubeClient, proxy: Proxy) -> None:
    fenced = FencedClient(client, lambda: 0.0)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        with pytest.raises(Fenced, match="is not sent: this bridge does not hold the Lease"):
            await fenced.request(method, "/api/v1/namespaces/default", body=b"{}")
    assert proxy.accepted == 0
    assert (await fenced.get("/version"))["major"] == "1"


async def test_a_write_that_waits_when_the_lease_ends_is_never_sent(
    control_plane: ControlPlane, client: KubeClient, proxy: Proxy
) -> None:
    namespace = await make_namespace(control_plane.api)
    await put_config_map(control_plane.api, namespace, "a", {"written": "before"})
    until = time.monotonic() + 0.5
    fenced = FencedClient(client, lambda: until - time.monotonic())
    proxy.mute = True  # its connection is accepted, and gets no further
    with pytest.raises(Fenced, match="is broken off: this bridge does not hold the Lease any more"):
        await fenced.patch(f"/api/v1/namespaces/{namespace}/configmaps/a", {"data": {"written": "too late"}})
    await fenced.quiet()
    proxy.mute = False
    await asyncio.sleep(0.5)
    path = f"/api/v1/namespaces/{namespace}/configmaps/a"
    assert (await fenced.get(path))["data"] == {"written": "before"}


async def test_a_write_within_its_time_is_made(control_plane: ControlPlane, client: KubeClient) -> None:
    namespace = await make_namespace(control_plane.api)
    await put_config_map(control_plane.api, namespace, "a", {})
    fenced = FencedClient(client, lambda: 30.0)
    written = await fenced.patch(f"/api/v1/namespaces/{namespace}/configmaps/a", {"data": {"written": "now"}})
    assert written["data"] == {"written": "now"}
