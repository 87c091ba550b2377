"""A client that writes only while a Lease is held: what has not been sent by its end is never sent."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bridge.kube.kube_client import KubeClient
from bridge.kube.kube_errors import Fenced
from bridge.kube.lease import FencedClient, Lease, Term
from tests.controlplane.plane import ControlPlane
from tests.integration.api_objects import fresh_name, put_config_map
from tests.integration.proxy import Proxy
from tests.working import working


class Until(Lease):
    """A term that ends at a time of the monotonic clock."""

    def __init__(self, end: float) -> None:
        self.end = end

    @property
    def held(self) -> bool:
        """Whether the term has not ended."""
        return self.left > 0

    @property
    def left(self) -> float:
        """Seconds until its end."""
        return max(0.0, self.end - time.monotonic())


@asynccontextmanager
async def holding(client: KubeClient, term: Term) -> AsyncIterator[Lease]:
    """A Lease that is held within the block."""
    lease = Lease(client, "default", fresh_name("lease"), "a", term=term)
    async with working(lease.run):
        await asyncio.wait_for(lease.taken.wait(), 300)
        yield lease


@pytest.fixture
async def path(control_plane: ControlPlane, namespace: str) -> str:
    """The path of a ConfigMap."""
    await put_config_map(control_plane.api, namespace, "a", {"written": "before"})
    return f"/api/v1/namespaces/{namespace}/configmaps/a"


async def test_a_user_without_write_rights_still_reads_and_sends_no_write(proxied: KubeClient, proxy: Proxy) -> None:
    fenced = FencedClient(proxied, Until(0.0))
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        with pytest.raises(Fenced, match="not sent: this bridge does not hold the Lease"):
            await fenced.request(method, "/api/v1/namespaces/default", body=b"{}")
    assert proxy.accepted == 0
    assert (await fenced.get("/version"))["major"] == "1"


async def test_a_write_that_waits_when_the_lease_ends_is_never_sent(
    proxied: KubeClient, proxy: Proxy, path: str
) -> None:
    fenced = FencedClient(proxied, Until(time.monotonic() + 0.5))
    proxy.mute = True  # its connection is accepted, and gets no further
    with pytest.raises(Fenced, match="aborted: this bridge no longer holds the Lease"):
        await fenced.patch(path, {"data": {"written": "too late"}})
    await fenced.wait_for_writes()
    proxy.mute = False
    await asyncio.sleep(0.5)
    assert (await fenced.get(path))["data"] == {"written": "before"}


async def test_a_write_slower_than_the_term_succeeds_while_the_lease_is_renewed(
    client: KubeClient, proxied: KubeClient, proxy: Proxy, path: str
) -> None:
    term = Term(duration=3, margin=1.5, period=0.3)
    async with holding(client, term) as lease:
        fenced = FencedClient(proxied, lease)
        await fenced.get("/version")  # opens the connection
        proxy.delay = 2 * (term.duration - term.margin)
        began = time.monotonic()
        written = await fenced.patch(path, {"data": {"written": "slowly"}})
        assert time.monotonic() - began >= proxy.delay
        assert written["data"] == {"written": "slowly"}


async def test_resigning_lets_a_write_in_progress_end_and_none_begin(
    client: KubeClient, proxied: KubeClient, proxy: Proxy, path: str
) -> None:
    async with holding(client, Term()) as lease:
        fenced = FencedClient(proxied, lease)
        await fenced.get("/version")
        proxy.delay = 1.0
        writing = asyncio.create_task(fenced.patch(path, {"data": {"written": "before the end"}}))
        await asyncio.sleep(0.2)
        lease.resign()
        assert (await writing)["data"] == {"written": "before the end"}
        with pytest.raises(Fenced, match="not sent"):
            await fenced.patch(path, {"data": {"written": "after the end"}})
