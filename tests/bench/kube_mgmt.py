"""Measure the replication, then that of kube-mgmt with the same API server, if `kube-mgmt` is on PATH."""

import asyncio
import random
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.bench.load import GATEWAY_API, Load, namespace_of
from tests.bench.observed_statuses import burst, create_load, patch, session_of
from tests.bench.opa import plain_opa
from tests.bench.table import Figures
from tests.cluster import running_cluster
from tests.controlplane.plane import ControlPlane
from tests.controlplane.process import ServerProcess
from tests.figures import percentile, progress
from tests.processes import BridgeProcess, Program, opa_below, processor_time, running_below

NAME = "kube-mgmt"
CHANGES = 200
PATIENCE = 300.0  # seconds
IDLE = 0.2  # seconds of processors in two seconds
REPLICATED = (  # what the bridge replicates of the load
    f"--replicate={GATEWAY_API}/v1/httproutes",
    f"--replicate={GATEWAY_API}/v1/gateways",
    "--replicate=v1/services",
    "--replicate=example.com/v1/colorpolicies",
    f"--replicate-cluster={GATEWAY_API}/v1/gatewayclasses",
    "--replicate-cluster=v1/namespaces",
)


@dataclass(frozen=True, slots=True)
class Side:
    """A full OPA: the URL of its HTTPRoutes, the seconds of its fill, those of processors, and all of these so far."""

    routes: str
    filled: float
    processors: float
    used: Callable[[], float]


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the figures, none without a `kube-mgmt`."""
    executable = shutil.which(NAME)
    if executable is None:
        progress(f"no {NAME} on PATH: nothing is measured beside it")
        return {}
    load = Load(routes)
    async with running_cluster(folder / "control-plane") as plane, session_of(plane) as api:
        await create_load(plane, api, load)
        async with aiohttp.ClientSession() as session:
            async with _kube_mgmt(executable, plane, session, load, folder) as side:
                peer, of_peer = side, await _visible(api, session, side, load, NAME)
            async with _bridge(program, plane, folder) as side:
                own = await _visible(api, session, side, load, "bridge")
    return {
        "peer_fill": side.filled / peer.filled,
        "peer_fill_cpu": side.processors / peer.processors,
        "peer_p50": own["p50"] / of_peer["p50"],
        "peer_p99": own["p99"] / of_peer["p99"],
        "visible_p50": own["p50"],
        "visible_p99": own["p99"],
        "burst_lag": own["lag"],
        "peer_burst_lag": of_peer["lag"],
    }


@asynccontextmanager
async def _kube_mgmt(
    executable: str, plane: ControlPlane, session: aiohttp.ClientSession, load: Load, folder: Path
) -> AsyncIterator[Side]:
    async with plain_opa(folder, session) as (url, shell):
        options = ["--enable-policies=false", "--enable-data=false", f"--opa-url={url}/v1"]
        began = time.monotonic()
        process = ServerProcess(
            [executable, f"--kubeconfig={plane.kubeconfig}", *options, *REPLICATED], folder / "kube-mgmt.log"
        )
        try:
            last = load.routes - 1
            # It writes each type as a whole.
            for path in (
                f"httproutes/{namespace_of(last)}/route-{last}",
                "colorpolicies/infra/gateway-0",
                f"services/{namespace_of(0)}/service-0",
                "gateways/infra/gateway-0",
            ):
                await _until(session, f"{url}/v1/data/kubernetes/{path}/kind", lambda value: value is not None)
            took = time.monotonic() - began
            pids = [running_below(process.pid, NAME, options[0].encode()), opa_below(shell)]

            def used() -> float:
                return sum(processor_time(pid) for pid in pids if pid)

            yield Side(f"{url}/v1/data/kubernetes/httproutes", took, used(), used)
        finally:
            await asyncio.to_thread(process.kill)


@asynccontextmanager
async def _bridge(program: Program, plane: ControlPlane, folder: Path) -> AsyncIterator[Side]:
    options = ["--kubeconfig", str(plane.kubeconfig), "--listen", "127.0.0.1:0"]
    # kube-mgmt writes no statuses.
    async with BridgeProcess(folder, options, {"BRIDGE_READ_ONLY": "true"}, program) as bridge:

        def used() -> float:
            return sum(bridge.processor_times().values())

        began, before = time.monotonic(), used()
        await bridge.logged("OPA synced")
        took = time.monotonic() - began
        yield Side(f"{bridge.opa_url}/v1/data/objects/{GATEWAY_API}/HTTPRoute", took, used() - before, used)


async def _visible(
    api: aiohttp.ClientSession, opa: aiohttp.ClientSession, side: Side, load: Load, value: str
) -> Mapping[str, float]:
    """Change routes one by one, then many at once; return p50 and p99 in milliseconds, and the lag in seconds."""
    await _until_idle(side)
    progress(f"{value}: changes")
    chance, took = random.Random(7), []
    for number in range(CHANGES):
        route = chance.randrange(load.routes)
        metadata = {"name": f"route-{route}", "namespace": namespace_of(route)}
        obj = {"apiVersion": f"{GATEWAY_API}/v1", "kind": "HTTPRoute", "metadata": metadata}
        await patch(api, obj, {"metadata": {"labels": {"bench": f"{value}-{number}"}}})
        answered = time.monotonic()
        await _until_label(opa, side, route, f"{value}-{number}")
        took.append((time.monotonic() - answered) * 1e3)
        await asyncio.sleep(chance.uniform(0.02, 0.08))  # jitter, so that clocks do not synchronize
    progress(f"{value}: burst")
    changed = await burst(api, load, {"labels": {"bench": f"{value}-burst"}})
    answered = time.monotonic()
    for route in changed[-50:]:
        await _until_label(opa, side, route, f"{value}-burst")
    return {"p50": percentile(took, 0.5), "p99": percentile(took, 0.99), "lag": time.monotonic() - answered}


async def _until_idle(side: Side) -> None:
    """Wait until the processes of a side use little of a processor."""
    async with asyncio.timeout(PATIENCE):
        before = -1.0
        while (now := side.used()) - before > IDLE:
            before = now
            await asyncio.sleep(2)


async def _until_label(opa: aiohttp.ClientSession, side: Side, route: int, label: str) -> None:
    url = f"{side.routes}/{namespace_of(route)}/route-{route}/metadata/labels/bench"
    await _until(opa, url, lambda value: value == label)


async def _until(opa: aiohttp.ClientSession, url: str, holds: Callable[[Any], bool]) -> None:
    """Wait until a document of OPA has a value."""
    async with asyncio.timeout(PATIENCE):
        while True:
            async with opa.get(url) as answer:
                if holds((await answer.json()).get("result")):
                    return
            await asyncio.sleep(0.0005)
