"""Faults of the API server while it is busy. Each test ends with OPA equal to it, object by object."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bridge.kube.listwatch import Pace
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from tests.controlplane.api import ApiError
from tests.controlplane.plane import LIMITED_TOKEN, ControlPlane
from tests.controlplane.pods import service_account
from tests.eventually import equal_to, eventually
from tests.faults.loaded_cluster import LISTED, Reader, bridge, busy, load_of, until_equal
from tests.integration.api_objects import apply_crd, crd, delete_crd, fresh_name, grant_reading, take_rights_away
from tests.integration.proxy import Proxy
from tests.warm_opa import whole_bundle

pytestmark = pytest.mark.long

READ = (("", "configmaps"), ("", "namespaces"), ("gateway.networking.k8s.io", "httproutes"))


@pytest.fixture
async def opa(opa_path: Path) -> AsyncIterator[ManagedOpa]:
    async with ManagedOpa(opa_path, {}, bundle=whole_bundle()) as managed:
        yield managed


async def test_it_is_killed_and_started_again(own_control_plane: ControlPlane, opa: ManagedOpa) -> None:
    plane = own_control_plane
    async with busy(plane, opa.url, 60):
        for _ in range(2):
            await asyncio.sleep(2)
            await asyncio.to_thread(plane.stop_api_server)
            await asyncio.sleep(1)
            await asyncio.to_thread(plane.start_api_server)
        await asyncio.sleep(2)


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
    async with Proxy(control_plane.url) as proxy:
        path = control_plane.write_kubeconfig(tmp_path / "through-proxy", control_plane.token, proxy.url)
        async with busy(control_plane, opa.url, 80, kubeconfig=path):
            for _ in range(5):
                await asyncio.sleep(0.7)
                await proxy.refuse()
                await proxy.serve()


async def test_its_connections_freeze(control_plane: ControlPlane, opa: ManagedOpa, tmp_path: Path) -> None:
    """Neither a byte nor an end comes, as behind a firewall that has forgotten a connection."""
    async with Proxy(control_plane.url) as proxy:
        path = control_plane.write_kubeconfig(tmp_path / "through-proxy", control_plane.token, proxy.url)
        async with busy(control_plane, opa.url, 85, kubeconfig=path, pace=Pace(silence=1.5, opening=1.5)):
            for _ in range(3):
                await asyncio.sleep(0.5)
                proxy.freeze()
                await asyncio.sleep(2)
            proxy.mute = True
            proxy.cut()
            await asyncio.sleep(3)
            proxy.mute = False


async def test_the_token_of_a_pod_expires_with_and_without_a_successor(
    own_control_plane: ControlPlane, opa: ManagedOpa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = own_control_plane
    load = await load_of(plane, seed=95)
    authority = plane.certificate_authority.read_bytes()
    token = service_account(monkeypatch, tmp_path / "account", plane.url, plane.token, authority)
    async with bridge(None, opa.url, list(LISTED)) as one, Opa(opa.url) as direct:
        await one.filled()
        with capture_logs() as logs:
            async with load.running(), Reader(opa.url, load).looking():
                await asyncio.sleep(1)
                token.write_text("the-next-token")
                await asyncio.to_thread(plane.replace_token, "the-next-token")
                await asyncio.sleep(1)
            await until_equal(plane, direct)
            await eventually(lambda: not one.replicator.troubles)
        assert not any("credentials" in str(entry) for entry in logs)
        load = await load_of(plane, seed=96)
        async with load.running(), Reader(opa.url, load).looking():
            await asyncio.to_thread(plane.replace_token, "a-later-token")
            await eventually(
                lambda: all("credentials" in one.replicator.troubles.get(type_id, "") for type_id in LISTED)
            )
            token.write_text("a-later-token")
            await eventually(lambda: not one.replicator.troubles)
        await until_equal(plane, direct)


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
                await eventually(
                    lambda: not one.replicator.troubles
                )  # a type with nothing new is equal before it is read
                await until_equal(control_plane, direct)
                assert one.replicator.troubles == {}
    finally:
        await grant_reading(control_plane.api, *READ)
        await take_rights_away(control_plane.api)


class Things:
    """A CRD of its own, and its objects."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.group = f"{fresh_name('group')}.example.com"
        self.type_id = f"{self.group}/Thing"
        self.listed = {self.type_id: f"/apis/{self.group}/v1/things"}
        self._plane = plane
        self._namespace = namespace

    async def define(self) -> None:
        """Make the CRD, and wait until it is served."""
        await apply_crd(self._plane.api, crd("things", "Thing", group=self.group))

    async def put(self, name: str) -> None:
        """Make an object."""
        thing = {"apiVersion": f"{self.group}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {}}
        path = f"/apis/{self.group}/v1/namespaces/{self._namespace}/things/{name}"
        await asyncio.to_thread(self._plane.api.apply, path, thing)

    async def remove(self) -> None:
        """Delete the CRD, and wait until it and its objects are deleted."""
        await delete_crd(self._plane.api, f"things.{self.group}")
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{self.group}"
        async with asyncio.timeout(300):
            while True:
                try:
                    await asyncio.to_thread(self._plane.api.get, path)
                except ApiError:
                    return
                await asyncio.sleep(0.05)


async def test_a_crd_is_deleted_and_made_again(control_plane: ControlPlane, opa: ManagedOpa) -> None:
    load = await load_of(control_plane, seed=100)
    things = Things(control_plane, load.namespace)
    await things.define()
    types = [*LISTED, things.type_id]
    async with bridge(control_plane.kubeconfig, opa.url, types) as one, Opa(opa.url) as direct:
        await things.put("first")
        await one.filled()
        async with Reader(opa.url, load).looking(), load.running():
            for name in ("second", "third"):
                await eventually(lambda: len(one.replicator.troubles) == 0)
                await asyncio.sleep(0.5)
                await things.remove()
                await eventually(lambda: things.type_id in one.replicator.troubles)
                await eventually(lambda: direct.get(f"objects/{things.group}"), equal_to(None))
                await things.define()
                await things.put(name)
        await until_equal(control_plane, direct, {**LISTED, **things.listed})


async def test_a_crd_is_made_again_while_the_bridge_is_disconnected(
    control_plane: ControlPlane, opa: ManagedOpa, tmp_path: Path
) -> None:
    """The bridge gets no event for the deletion of former objects."""
    load = await load_of(control_plane, seed=110)
    things = Things(control_plane, load.namespace)
    await things.define()
    async with Proxy(control_plane.url) as proxy:
        path = control_plane.write_kubeconfig(tmp_path / "through-proxy", control_plane.token, proxy.url)
        async with bridge(path, opa.url, [*LISTED, things.type_id]) as one, Opa(opa.url) as direct:
            await one.filled()
            for name in ("first", "second"):
                await things.put(name)
            async with Reader(opa.url, load).looking(), load.running():
                await until_held(direct, things)
                await proxy.refuse()
                await things.remove()
                await things.define()
                await things.put("third")
                await proxy.serve()
                await asyncio.sleep(1)
            await until_equal(control_plane, direct, {**LISTED, **things.listed})


async def until_held(opa: Opa, things: Things) -> None:
    """Wait until OPA has objects of a type."""
    await eventually(lambda: opa.get(f"objects/{things.group}"), lambda found: found is not None)
