"""The Lease: one bridge writes at a time, and a free Lease is taken at once."""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Self

import pytest

from bridge.kube import lease as module
from bridge.kube.kube_client import KubeClient
from bridge.kube.lease import Lease, Term
from tests.builders import resource
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import fresh_name
from tests.integration.proxy import Proxy
from tests.working import working

SHORT = Term(duration=3, margin=1, period=0.3)


@asynccontextmanager
async def running(lease: Lease) -> AsyncIterator[Lease]:
    async with working(lease.run):
        yield lease


async def until(happened: Callable[[], bool]) -> None:
    await eventually(happened, pause=0.01)


async def test_a_second_bridge_waits_and_takes_over_after_a_clean_stop(
    control_plane: ControlPlane, client: KubeClient
) -> None:
    name = fresh_name("lease")
    path = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{name}"
    async with running(Lease(client, "default", name, "a", term=SHORT)) as first:
        await until(lambda: first.held)
        changes: list[str] = []
        second = Lease(client, "default", name, "b", term=SHORT, on_change=lambda lease: changes.append(lease.holder))
        async with running(second):
            await until(lambda: changes == ["a"])  # whom it waits for
            await asyncio.sleep(4)  # longer than its duration: the first renews it
            assert (first.held, second.held, second.holder) == (True, False, "a")
    released = await asyncio.to_thread(control_plane.api.get, path)
    assert not released["spec"].get("holderIdentity")  # the next one need not wait for the end of a term
    async with running(Lease(client, "default", name, "c", term=SHORT)) as third:
        await until(lambda: third.held)


@pytest.mark.parametrize(
    "skew", [pytest.param(-3600, marks=pytest.mark.long), pytest.param(0, marks=pytest.mark.long), 3600]
)
async def test_it_is_taken_from_a_bridge_that_is_cut_off_and_never_held_twice_whatever_its_clock(
    client: KubeClient, proxied: KubeClient, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, skew: int
) -> None:
    own_skew = ContextVar("own_skew", default=0)

    class Clock(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Self:
            return super().now(tz) + dt.timedelta(seconds=own_skew.get())

    monkeypatch.setattr(module, "datetime", Clock)
    name = fresh_name("lease")
    changes: list[bool] = []
    first = Lease(proxied, "default", name, "a", term=SHORT, on_change=lambda lease: changes.append(lease.held))
    second = Lease(client, "default", name, "b", term=SHORT)

    async def run_with_skew() -> None:
        own_skew.set(skew)
        await first.run()

    async with working(run_with_skew):
        await until(lambda: first.held)
        async with running(second):
            await asyncio.sleep(4)  # longer than its duration: the first renews it
            assert (first.held, second.held) == (True, False)
            await proxy.refuse()
            cut = time.monotonic()
            await until(lambda: not first.taken.is_set())  # the clock ends `held` a moment before
            assert not first.held
            assert not second.held
            await until(lambda: second.held)
            assert 1.5 < time.monotonic() - cut < 60
            assert "refuses connections" in (first.trouble or "")
            await proxy.serve()
            await until(lambda: first.trouble is None)
            assert (first.held, first.holder) == (False, "b")
    assert changes[0]
    assert not changes[-1]


async def test_it_is_lost_when_another_client_writes_his_name_into_it(
    control_plane: ControlPlane, client: KubeClient
) -> None:
    name = fresh_name("lease")
    path = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{name}"
    async with running(Lease(client, "default", name, "a", term=SHORT)) as lease:
        await until(lambda: lease.held)
        body = resource("coordination.k8s.io/v1", "Lease", name, spec={"holderIdentity": "thief"})
        await asyncio.to_thread(control_plane.api.apply, path, body)
        await until(lambda: not lease.held)
        assert lease.holder == "thief"


async def test_a_lease_with_absurd_numbers_is_taken_when_it_is_not_renewed(
    control_plane: ControlPlane, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_DURATION", 2.0)
    name = fresh_name("lease")
    body = resource(
        "coordination.k8s.io/v1",
        "Lease",
        name,
        "default",
        spec={"holderIdentity": "nobody", "leaseDurationSeconds": 2**31 - 1, "leaseTransitions": 2**31 - 1},
    )
    await client.post("/apis/coordination.k8s.io/v1/namespaces/default/leases", body)
    began = time.monotonic()
    async with running(Lease(client, "default", name, "a", term=SHORT)) as lease:
        await eventually(lambda: lease.held)
    assert time.monotonic() - began >= 2


async def test_a_lease_that_was_deleted_is_made_again(control_plane: ControlPlane, client: KubeClient) -> None:
    name = fresh_name("lease")
    path = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{name}"
    async with running(Lease(client, "default", name, "a", term=SHORT)) as lease:
        await until(lambda: lease.held)
        await asyncio.to_thread(control_plane.api.request, "DELETE", path)
        await asyncio.sleep(1)
        assert lease.held
        assert (await client.get(path))["spec"]["holderIdentity"] == "a"


async def test_a_namespace_that_does_not_exist_is_reported(client: KubeClient) -> None:
    async with running(Lease(client, "nowhere", "lease", "a")) as lease:
        await until(lambda: lease.trouble is not None)
    assert lease.trouble == (
        "Lease nowhere/lease cannot be created: no namespace nowhere: create it, or choose another"
    )


async def test_missing_permissions_are_reported(limited: KubeClient) -> None:
    async with running(Lease(limited, "default", "x", "a")) as lease:
        await until(lambda: lease.trouble is not None)
    assert "grant the bridge's role get, create and update on leases.coordination.k8s.io" in (lease.trouble or "")


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this platform has one monotonic clock")
async def test_a_lease_ends_while_the_machine_is_suspended(client: KubeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Lease(client, "default", fresh_name("lease"), "a")) as lease:
        await until(lambda: lease.held)
        read = time.clock_gettime
        # What a suspend of a minute looks like afterwards: the boot clock has moved, the monotonic clock has not.
        monkeypatch.setattr(time, "clock_gettime", lambda clock: read(clock) + 60 * (clock == time.CLOCK_BOOTTIME))
        assert not lease.held
        assert lease.left == 0
