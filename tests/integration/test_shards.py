"""Several Leases: bridges share them, hand them over, and never hold them under two numbers of shards at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from bridge.kube.client import KubeClient
from bridge.kube.errors import Fenced
from bridge.kube.lease import REQUEST, SHARDS, Term
from bridge.kube.shards import Shards, shard_of
from bridge.settings.model import Settings
from bridge.settings.validation import MOST_SHARDS
from bridge.sidecar.removal import delete_leases, held, names_of_leases, read_lease
from tests.builders import resource
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.objects import fresh_name, make_namespace, put_config_map
from tests.integration.proxy import Proxy
from tests.working import working

SHORT = Term(duration=3, margin=1, period=0.3)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def names(count: int) -> list[str]:
    """Names of Leases that no other test has."""
    first = fresh_name("lease")
    return [first, *(f"{first}-{shard}" for shard in range(1, count))]


def shards(client: KubeClient, leases: Sequence[str], identity: str) -> Shards:
    """A bridge's Leases."""
    return Shards(client, "default", leases, identity, term=SHORT)


@asynccontextmanager
async def running(*bridges: Shards) -> AsyncIterator[None]:
    async with working(*(one.run for one in bridges)):
        yield


async def until_shared(*parts: tuple[Shards, int]) -> None:
    """Wait until each bridge holds its number of shards, and each shard has a holder."""

    def are_shared() -> bool:
        held = [one.held() for one, _ in parts]
        assert sum(map(len, held)) == len(frozenset[int]().union(*held)), "a shard has two holders"
        return [len(one) for one in held] == [number for _, number in parts]

    await eventually(are_shared, pause=0.01)


async def test_bridges_share_shards_and_a_dead_ones_are_taken(client: KubeClient, control_plane: ControlPlane) -> None:
    leases = names(6)
    first, second, third = (shards(client, leases, name) for name in "abc")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(first))
        await until_shared((first, 6))
        await stack.enter_async_context(running(second))
        await until_shared((first, 3), (second, 3))
        assert 0 in first.held()  # it has more to do than its objects, and moves last
        async with await KubeClient.connect(control_plane.kubeconfig) as cut_off, Proxy(control_plane.url):
            dying = shards(cut_off, leases, "c")
            task = asyncio.create_task(dying.run())
            await until_shared((first, 2), (second, 2), (dying, 2))
            await cut_off.close()  # it cannot release them
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await until_shared((first, 3), (second, 3))
        await stack.enter_async_context(running(third))
        await until_shared((first, 2), (second, 2), (third, 2))
    # A clean stop leaves none.
    held = [(await client.get(f"{LEASES}/{name}"))["spec"].get("holderIdentity") for name in leases]
    assert not any(held)


async def test_a_bridge_requests_no_shard_before_it_could_write(client: KubeClient) -> None:
    leases = names(4)
    first, ready = shards(client, leases, "a"), asyncio.Event()
    second = Shards(client, "default", leases, "b", term=SHORT, may_request=ready.is_set)
    async with running(first):
        await until_shared((first, 4))
        async with running(second):
            await asyncio.sleep(2)
            assert len(first.held()) == 4
            ready.set()
            await until_shared((first, 2), (second, 2))


async def test_a_shard_is_handed_over_after_its_writes_in_progress(
    control_plane: ControlPlane, client: KubeClient, tmp_path: Path
) -> None:
    leases = names(2)
    namespace = await make_namespace(control_plane.api)
    while shard_of(namespace, 2) != 1:
        namespace = await make_namespace(control_plane.api)
    await put_config_map(control_plane.api, namespace, "a", {})
    path = f"/api/v1/namespaces/{namespace}/configmaps/a"
    async with Proxy(control_plane.url) as proxy:
        kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig", control_plane.token, proxy.url)
        async with await KubeClient.connect(kubeconfig) as slow:
            first, second = shards(slow, leases, "a"), shards(client, leases, "b")
            async with running(first):
                await until_shared((first, 2))
                proxy.delay = 0.25
                writing = asyncio.create_task(_write(first, namespace, path))
                async with running(second):
                    # As long as there are writes in progress, no bridge holds it.
                    await eventually(lambda: _write(first, namespace, path), lambda seen: isinstance(seen, Fenced))
                    assert second.held() == frozenset()
                    await writing
                    await until_shared((first, 1), (second, 1))
                    answer = await second.client_for(namespace).patch(path, {"data": {"by": "b"}})
                    assert answer["data"] == {"by": "b"}
                    with pytest.raises(Fenced):
                        await first.client_for(namespace).patch(path, {"data": {"by": "a"}})


async def _write(bridge: Shards, namespace: str, path: str) -> object:
    try:
        return await bridge.client_for(namespace).patch(path, {"data": {"by": "a"}})
    except Fenced as error:
        return error


@pytest.mark.parametrize("count", [2, 3])
async def test_a_shard_is_given_once_to_a_bridge_that_has_died_which_costs_one_term(
    control_plane: ControlPlane, client: KubeClient, count: int
) -> None:
    leases = names(count)
    bridge = shards(client, leases, "a")
    async with running(bridge):
        await until_shared((bridge, count))
        request = {"metadata": {"annotations": {REQUEST: "dead"}}}
        await asyncio.to_thread(control_plane.api.merge, f"{LEASES}/{leases[1]}", request)
        await until_shared((bridge, count - 1))
        await until_shared((bridge, count))
        await asyncio.sleep(2)
        assert len(bridge.held()) == count


async def test_other_numbers_of_shards_never_hold_at_the_same_time(client: KubeClient) -> None:
    leases = names(3)
    one, two, three = (shards(client, leases[:count], f"of-{count}") for count in (1, 2, 3))

    def count_numbers() -> int:
        return sum(bool(bridge.held()) for bridge in (one, two, three))

    async def watch() -> None:
        while True:
            assert count_numbers() <= 1, "two numbers of shards are in use"
            await asyncio.sleep(0.01)

    watching = asyncio.create_task(watch())
    async with running(two):
        await until_shared((two, 2))
        async with running(three):
            await asyncio.sleep(2)
            assert three.held() == frozenset()
            # The holder of shard 0 ends; the other shard's name is still in its Lease.
            two.leases[0].resign()
            two.leases[0].give("of-3", lambda: True)
            await until_shared((three, 3))
        async with running(one):
            await until_shared((one, 1))
    assert not watching.done()
    watching.cancel()


async def test_a_change_of_the_number_that_a_dead_bridge_began_takes_its_whole_time_again(
    control_plane: ControlPlane, client: KubeClient
) -> None:
    leases = names(2)
    body = resource("coordination.k8s.io/v1", "Lease", leases[0], metadata={"annotations": {SHARDS: ""}})
    await asyncio.to_thread(control_plane.api.apply, f"{LEASES}/{leases[0]}", body)
    bridge, began = shards(client, leases, "a"), time.monotonic()
    async with running(bridge):
        await until_shared((bridge, 2))
    assert time.monotonic() - began >= SHORT.duration


async def test_one_lease_has_no_annotations(client: KubeClient) -> None:
    leases = names(1)
    async with running(shards(client, leases, "a")):
        await asyncio.sleep(1)
        metadata = (await client.get(f"{LEASES}/{leases[0]}"))["metadata"]
        assert "annotations" not in metadata


async def test_a_removal_holds_every_lease_and_deletes_them_and_those_of_former_shards(client: KubeClient) -> None:
    leases = names(3)
    settings = Settings(lease_name=leases[0])
    bridge = shards(client, leases, "a")
    async with running(bridge):
        await until_shared((bridge, 3))
    assert await names_of_leases(client, settings) == tuple(leases)
    async with held(client, "default", leases), running(bridge):
        holders = {(await client.get(f"{LEASES}/{name}"))["spec"]["holderIdentity"] for name in leases}
        assert [holder.startswith("uninstall-status-") for holder in holders] == [True]
        await asyncio.sleep(1)
        assert bridge.held() == frozenset()
    fewer = shards(client, leases[:1], "b")
    async with running(fewer):
        await until_shared((fewer, 1))
    assert await names_of_leases(client, settings) == tuple(leases[:1])
    await delete_leases(client, settings)
    assert [await read_lease(client, "default", name) for name in leases] == [None] * 3


@pytest.mark.parametrize(("noted", "count"), [("2", 2), ("", 1), ("٣", 1), ("-1", 1), ("9" * 30, MOST_SHARDS)])
async def test_a_removal_takes_no_other_text_for_a_number_of_shards(
    control_plane: ControlPlane, client: KubeClient, noted: str, count: int
) -> None:
    (name,) = names(1)
    body = resource("coordination.k8s.io/v1", "Lease", name, metadata={"annotations": {SHARDS: noted}})
    await asyncio.to_thread(control_plane.api.apply, f"{LEASES}/{name}", body)
    assert len(await names_of_leases(client, Settings(lease_name=name))) == count
