"""A real cluster under load, a bridge's replicating half on it, and a reader that queries OPA all the time."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridge.kube.kube_client import KubeClient
from bridge.kube.listwatch import Pace
from bridge.model.changes import Notice, Object
from bridge.model.keys import key_of
from bridge.opa.bundle import STATE
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaUnavailable
from bridge.replicator.replicator import Replicator
from bridge.sources.cluster import ClusterSource
from tests.controlplane.api import ApiError
from tests.controlplane.plane import ControlPlane
from tests.faults.comparing import declared_ends, differences
from tests.integration.api_objects import make_namespace

_PACE = Pace()
PATIENCE = 300.0  # seconds until OPA must be equal to the API server
GATEWAY_API = "gateway.networking.k8s.io"
LISTED = {
    "core/ConfigMap": "/api/v1/configmaps",
    "core/Namespace": "/api/v1/namespaces",
    f"{GATEWAY_API}/HTTPRoute": f"/apis/{GATEWAY_API}/v1/httproutes",
}


def objects_of(plane: ControlPlane, listed: dict[str, str]) -> list[Object]:
    """All objects of some types (by type id, the path), as the API server has them."""
    found: list[Object] = []
    for path in listed.values():
        answer = plane.api.get(path)
        kind = answer["kind"].removesuffix("List")
        found += [{**item, "apiVersion": answer["apiVersion"], "kind": kind} for item in answer["items"]]
    return found


async def until_equal(plane: ControlPlane, opa: Opa, listed: dict[str, str] = LISTED) -> None:
    """Wait until OPA holds exactly what the API server has, with its links."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            reported = await differences(opa, await asyncio.to_thread(objects_of, plane, listed))
        except (OpaError, OSError) as error:
            reported = [str(error)]
        if not reported:
            return
        assert time.monotonic() < deadline, reported[:10]
        await asyncio.sleep(0.2)


@dataclass
class Load:
    """Objects that are made, changed and deleted without end. A name is used once."""

    plane: ControlPlane
    namespace: str
    seed: int = 1
    deleted: set[str] = field(default_factory=set)
    made: int = 0
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """At work within the block, until `stop`."""
        tasks = [asyncio.create_task(self._work(number)) for number in range(2)]
        try:
            yield
        finally:
            self.stop()
            await asyncio.gather(*tasks)

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped.set()

    async def _work(self, worker: int) -> None:
        chance = random.Random(self.seed + worker)
        living: list[str] = []
        number = 0
        while not self._stopped.is_set():
            number += 1
            with contextlib.suppress(OSError, ApiError):  # the API server may be away just now
                await asyncio.to_thread(self._step, chance, living, f"w{worker}-{self.seed}-{number}")
                self.made += 1

    def _step(self, chance: random.Random, living: list[str], fresh: str) -> None:
        what = chance.random()
        name = chance.choice(living) if living and what > 0.4 else fresh
        if what > 0.8 and living:
            self.plane.api.request("DELETE", self._path(name))
            living.remove(name)
            self.deleted.add(name)
            return
        self.plane.api.apply(self._path(name), _route(name, chance.randrange(4)))
        if name is fresh:
            living.append(fresh)

    def _path(self, name: str) -> str:
        return f"/apis/{GATEWAY_API}/v1/namespaces/{self.namespace}/httproutes/{name}"


def _route(name: str, backends: int) -> Object:
    rules = [{"backendRefs": [{"name": f"service-{number}", "port": 80} for number in range(backends)]}]
    spec = {"parentRefs": [{"name": f"gateway-{backends % 2}"}], "rules": rules}
    return {"apiVersion": f"{GATEWAY_API}/v1", "kind": "HTTPRoute", "metadata": {"name": name}, "spec": spec}


async def load_of(plane: ControlPlane, seed: int = 1) -> Load:
    """A load in a namespace of its own."""
    return Load(plane, await make_namespace(plane.api), seed)


@dataclass
class Reader:
    """Queries OPA all the time, and records wrong results."""

    opa_url: str
    load: Load
    wrong: list[str] = field(default_factory=list)
    looks: int = 0

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """At work within the block; at its end, nothing wrong was seen. Raises what the reader died of."""
        task = asyncio.create_task(self._look())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.result()
        assert self.wrong == []
        assert self.looks > 5

    async def _look(self) -> None:
        seen: set[str] = set()
        gone: set[str] = set()
        async with Opa(self.opa_url, timeout=5.0) as opa:
            while True:
                deleted = set(self.load.deleted)
                try:
                    routes, links, filled = await self._snapshot(opa)
                except OpaUnavailable:
                    await asyncio.sleep(0.05)
                    continue
                self._check_links(routes, links)
                self.wrong += [f"{name} reappeared" for name in gone & routes.keys()]
                seen |= routes.keys()
                if filled:  # what an OPA lacks that has just started was not removed
                    gone |= (deleted & seen) - routes.keys()
                self.looks += 1
                await asyncio.sleep(0.01)

    async def _snapshot(self, opa: Opa) -> tuple[dict[str, Object], list[dict[str, Any]], bool]:
        """The routes, the links to what is below and above them, and whether OPA is synced, from one transaction."""
        routes = f'object.get(data.objects, ["{GATEWAY_API}", "HTTPRoute", "{self.load.namespace}"], {{}})'
        links = '[object.get(data.index, ["parents"], {}), object.get(data.index, ["children"], {})]'
        filled = f"[yes | yes = data.{STATE}.filled]"
        answers = await opa.evaluate(f"routes = {routes}; links = {links}; filled = {filled}", {})
        found = answers[0] if answers else {"routes": {}, "links": [{}, {}], "filled": []}  # data.objects is not there
        return found["routes"], found["links"], True in found["filled"]

    def _check_links(self, routes: dict[str, Object], links: list[dict[str, Any]]) -> None:
        below, above = map(declared_ends, links)
        for obj in routes.values():
            key, spec = str(key_of(obj)), obj["spec"]
            backends = [ref for rule in spec["rules"] for ref in rule.get("backendRefs", ())]
            if not (
                self._are(below.get(key, set()), "core/Service", backends)
                and self._are(above.get(key, set()), f"{GATEWAY_API}/Gateway", spec["parentRefs"])
            ):
                self.wrong.append(f"{key} without its links")

    def _are(self, found: set[str], type_id: str, refs: list[Object]) -> bool:
        wanted = {f"{type_id}/{self.load.namespace}/{ref['name']}" for ref in refs}
        return {end for end in found if end.startswith(f"{type_id}/")} == wanted


@dataclass
class Bridge:
    """The replicating half of a bridge at work. `fills` counts syncs of OPA."""

    replicator: Replicator
    source: ClusterSource
    task: asyncio.Task[None]
    fills: int = 0

    async def filled(self) -> None:
        """Wait until it reports that OPA has everything."""
        async with asyncio.timeout(PATIENCE):
            await self.replicator.filled.wait()

    def take_in(self, notice: Notice) -> None:
        """A listener."""
        self.fills += notice.refilled


@asynccontextmanager
async def bridge(
    kubeconfig: Path | None, opa_url: str, types: list[str], owner: str = "test", pace: Pace = _PACE
) -> AsyncIterator[Bridge]:
    """A bridge's replicating half on a cluster (without a kubeconfig: in a pod) and an OPA."""
    async with await KubeClient.connect(kubeconfig) as client, Opa(opa_url, timeout=10.0) as opa:
        source = ClusterSource(client, pace=pace, poll=0.5)
        replicator = Replicator(source, opa, types, owner=owner, content="test")
        one = Bridge(replicator, source, asyncio.create_task(replicator.run()))
        replicator.listen(one.take_in)
        try:
            yield one
            assert not one.task.done(), one.task.exception()
        finally:
            one.task.cancel()
            await asyncio.gather(one.task, return_exceptions=True)


@asynccontextmanager
async def busy(
    plane: ControlPlane,
    opa_url: str,
    seed: int,
    *,
    kubeconfig: Path | None = None,
    direct: str = "",
    pace: Pace = _PACE,
) -> AsyncIterator[Bridge]:
    """A bridge that has filled OPA, while the cluster changes and a reader queries; then OPA equals the API server.

    `direct`: OPA's own address, if `opa_url` is that of a proxy.
    """
    load = await load_of(plane, seed)
    async with (
        bridge(kubeconfig or plane.kubeconfig, opa_url, list(LISTED), pace=pace) as one,
        Opa(direct or opa_url) as opa,
    ):
        await one.filled()
        async with load.running(), Reader(direct or opa_url, load).looking():
            yield one
        await until_equal(plane, opa)
        await one.filled()
