"""Faults of the API server while it is busy. Each test ends with OPA equal to it, object by object."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.opa.client import Opa
from bridge.opa.managed import ManagedOpa
from tests.controlplane.plane import LIMITED_TOKEN, ControlPlane
from tests.faults.cluster import BUNDLE, LISTED, Reader, bridge, load_of, until_equal
from tests.integration.objects import apply_crd, crd, delete_crd, fresh_name, grant_reading, take_rights_away
from tests.integration.proxy import Proxy
from tests.integration.test_replicator import until

pytestmark = pytest.mark.long

READ = (("", "configmaps"), ("", "namespaces"), ("gateway.networking.k8s.io", "httproutes"))


@pytest.fixture
async def opa(opa_path: Path) -> AsyncIterator[ManagedOpa]:
    async with ManagedOpa(opa_path, {}, bundle=BUNDLE) as managed:
        yield managed


async def test_it_is_killed_and_started_again(own_control_plane: ControlPlane, opa: ManagedOpa) -> None:
    plane = own_control_plane
    load = await load_of(plane, seed=60)
    async with bridge(plane.kubeconfig, opa.url, list(LISTED)) as one, Opa(opa.url) as direct:
        await one.filled()
        async with load.running(), Reader(opa.url, load).looking():
            for _ in range(2):
                await asyncio.sleep(2)
                await asyncio.to_thread(plane.stop_api_server)
                await asyncio.sleep(1)
                await asyncio.to_thread(plane.start_api_server)
            await asyncio.sleep(2)
        await until_equal(plane, direct)


async def test_its_history_goes_while_the_bridge_is_disconnected(
    own_control_plane: ControlPlane, opa: ManagedOpa, tmp_path: Path
) -> None:
    plane = own_control_plane
    load = await load_of(plane, seed=70)
    async with Proxy(plane.url) as proxy:
        path = plane.write_kubeconfig(tmp_path / "through-proxy", plane.token, proxy.url)
        async with bridge(path, opa.url, list(LISTED)) as one, Opa(opa.url) as direct:
            await one.filled()
            async with Reader(opa.url, load).looking():
                async with load.running():
                    await asyncio.sleep(2)
                    await proxy.refuse()
                    await asyncio.sleep(2)
                await asyncio.to_thread(plane.forget_history)
                await proxy.serve()
                await until_equal(plane, direct)


async def test_its_watches_end_silently(control_plane: ControlPlane, opa: ManagedOpa, tmp_path: Path) -> None:
    load = await load_of(control_plane, seed=80)
    async with Proxy(control_plane.url) as proxy:
        path = control_plane.write_kubeconfig(tmp_path / "through-proxy", control_plane.token, proxy.url)
        async with bridge(path, opa.url, list(LISTED)) as one, Opa(opa.url) as direct:
            await one.filled()
            async with load.running(), Reader(opa.url, load).looking():
                for _ in range(5):
                    await asyncio.sleep(0.7)
                    await proxy.refuse()
                    await proxy.serve()
            await until_equal(control_plane, direct)


async def test_rights_are_taken_away_and_given_back(
    control_plane: ControlPlane, opa: ManagedOpa, tmp_path: Path
) -> None:
    load = await load_of(control_plane, seed=90)
    await grant_reading(control_plane.api, *READ)
    try:
        async with Proxy(control_plane.url) as proxy:
            kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig", LIMITED_TOKEN, proxy.url)
            async with bridge(kubeconfig, opa.url, list(LISTED)) as one, Opa(opa.url) as direct:
                await one.filled()
                async with load.running(), Reader(opa.url, load).looking():
                    await take_rights_away(control_plane.api)
                    await proxy.refuse()  # an open watch keeps its rights
                    await proxy.serve()
                    await asyncio.sleep(2)
                    assert set(one.replicator.troubles) == set(LISTED)
                    await grant_reading(control_plane.api, *READ)
                await until(lambda: not one.replicator.troubles)  # a type with nothing new is equal before it is read
                await until_equal(control_plane, direct)
                assert one.replicator.troubles == {}
    finally:
        await grant_reading(control_plane.api, *READ)
        await take_rights_away(control_plane.api)


async def test_a_crd_is_deleted_and_made_again(control_plane: ControlPlane, opa: ManagedOpa) -> None:
    group = f"{fresh_name('group')}.example.com"
    body = crd("things", "Thing", group=group)
    await apply_crd(control_plane.api, body)
    listed = {"core/Namespace": LISTED["core/Namespace"], f"{group}/Thing": f"/apis/{group}/v1/things"}
    load = await load_of(control_plane, seed=100)

    def put(name: str) -> None:
        thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {}}
        control_plane.api.apply(f"/apis/{group}/v1/namespaces/{load.namespace}/things/{name}", thing)

    async with bridge(control_plane.kubeconfig, opa.url, list(listed)) as one, Opa(opa.url) as direct:
        await asyncio.to_thread(put, "first")
        await one.filled()
        await until_equal(control_plane, direct, listed)
        await delete_crd(control_plane.api, f"things.{group}")
        await until_equal(control_plane, direct, {"core/Namespace": LISTED["core/Namespace"]})
        await apply_crd(control_plane.api, body)
        await asyncio.to_thread(put, "second")
        await until_equal(control_plane, direct, listed)
