"""Measure replication: from the API server into OPA, and through the restart of either."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable

import aiohttp

from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.replicator.claim import MARKER
from bridge.replicator.links import LinkFields
from bridge.replicator.pending import prune
from hack.bench.api import ROUTES, list_raw, patch, session_of
from hack.bench.cluster import PAGE, cluster_of, fill_floor, fill_of, memory_of
from hack.bench.figures import figure, opa_below, percentile, processor_time, progress, spread_of, step
from hack.bench.load import GATEWAY_API, Load, namespace_of
from hack.bench.queries import LINKS_BATCH
from hack.bench.sidecar import Sidecar, running_bridge
from tests.controlplane.plane import ControlPlane

WHERE = "replication"
CHANGES = 600
BURST = 2_000
AT_ONCE = 16  # changes of a burst under way at once
IDLE = 20.0  # seconds
_LOOK = 0.0005  # seconds between two checks of OPA
_SELDOM = 0.02  # the same where much is under way, which looks would slow down
_PATIENCE = 60.0
_NO_STATUSES = {"BRIDGE_STATUS_WRITES_PER_SECOND": "0.001"}  # what is measured here is replication


async def measure(routes: int) -> None:
    """Measure all figures on a cluster with this many routes."""
    load = Load(routes)
    async with cluster_of(load, policies=False) as plane, session_of(plane) as api:
        floor = await fill_floor(api, load)
        async with running_bridge(plane, _NO_STATUSES) as sidecar, Opa(sidecar.opa_url) as opa:
            fill_of(sidecar, floor, load, WHERE)
            memory_of(sidecar, load, "after_fill", WHERE)
            await _links(api, opa, sidecar.opa_pid, load)
            await _idle(sidecar, load)
            await _visible(api, opa, load)
            await _burst(sidecar, api, opa, load)
            memory_of(sidecar, load, "after_changes", WHERE)
            await _opa_restarted(sidecar, opa, load)
            await _api_server_restarted(plane, api, opa, load)


async def _links(api: aiohttp.ClientSession, opa: Opa, opa_pid: int | None, load: Load) -> None:
    """Send the query `links` for all routes, as the bridge does: the largest part of an initial sync."""
    routes, _ = await list_raw(api, ROUTES, PAGE)
    kind = {"apiVersion": f"{GATEWAY_API}/v1", "kind": "HTTPRoute"}
    reading = LinkFields(await opa.query("link_fields", {}))
    objects = [reading.of(prune({**route, **kind})) for route in routes]
    began, before = time.perf_counter(), processor_time(opa_pid)
    for start in range(0, len(objects), LINKS_BATCH):
        await opa.query("links", {"objects": objects[start : start + LINKS_BATCH], "reads": reading.fields})
    figure("links_of_all_routes", time.perf_counter() - began, "s", routes=load.routes, where=WHERE)
    used = processor_time(opa_pid)
    if before is not None and used is not None:
        figure("links_of_all_routes_cpu", used - before, "s", routes=load.routes, where=WHERE)


async def _idle(sidecar: Sidecar, load: Load) -> None:
    """The processor time of a bridge that has nothing to do, and of its OPA."""
    await asyncio.sleep(5)
    for name, pid in (("bridge", sidecar.pid), ("opa", sidecar.opa_pid)):
        before = processor_time(pid)
        if before is None:
            continue
        await asyncio.sleep(IDLE)
        used = (processor_time(pid) or before) - before
        figure(f"idle_{name}", 100 * used / IDLE, "% of a core", routes=load.routes, where=WHERE)


async def _visible(api: aiohttp.ClientSession, opa: Opa, load: Load) -> None:
    """One change at a time: from the API server's answer until OPA has it."""
    times = []
    pause = random.Random(3)
    for number in range(CHANGES):
        route = pause.randrange(load.routes)
        version = await _touch(api, route, f"visible-{number}")
        answered = time.perf_counter()
        await _until_has(opa, route, version)
        times.append((time.perf_counter() - answered) * 1e3)
        await asyncio.sleep(pause.uniform(0.01, 0.05))  # so that no two clocks go in step
    figure("change_visible", percentile(times, 0.5), "ms", **spread_of(times), routes=load.routes, where=WHERE)


async def _burst(sidecar: Sidecar, api: aiohttp.ClientSession, opa: Opa, load: Load) -> None:
    """Many changes: how far OPA is behind, and in how many writes they came.

    First as fast as the API server takes them, which is slow beside what replicates them; then all at once, to a bridge
    that had stopped while they were made.
    """
    await _changes_of(api, opa, load, "paced")
    os.kill(sidecar.pid, signal.SIGSTOP)
    try:
        await _changes_of(api, opa, load, "at_once", lambda: os.kill(sidecar.pid, signal.SIGCONT))
    finally:
        os.kill(sidecar.pid, signal.SIGCONT)


async def _changes_of(
    api: aiohttp.ClientSession, opa: Opa, load: Load, name: str, then: Callable[[], None] = lambda: None
) -> None:
    waiting = iter(random.Random(5).sample(range(load.routes), min(BURST, load.routes)))
    answered: dict[int, str] = {}
    before = await _writes(opa)

    async def work() -> None:
        for route in waiting:
            answered[route] = await _touch(api, route, f"burst-{name}")

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    then()
    ended = time.perf_counter()

    async def all_there() -> bool:
        held = (await opa.query("resource_versions", {}))[GATEWAY_API]["HTTPRoute"]
        return all(
            int(held[namespace_of(route)][f"route-{route}"]) >= int(version) for route, version in answered.items()
        )

    await _until(all_there, _SELDOM)
    more = {"changes": len(answered), "seconds": ended - began, "routes": load.routes, "where": WHERE}
    figure(f"burst_{name}_lag", time.perf_counter() - ended, "s", **more)
    figure(f"burst_{name}_writes", await _writes(opa) - before, "writes", **more)


async def _opa_restarted(sidecar: Sidecar, opa: Opa, load: Load) -> None:
    """OPA is killed; from its first answer until the bridge is ready again."""
    victim = sidecar.opa_pid
    if victim is None:
        progress("the process of OPA cannot be found here")
        return
    os.kill(victim, signal.SIGKILL)
    await _until(lambda: _not(opa.ready()))
    await _until(opa.ready)
    answers, before = time.perf_counter(), processor_time(sidecar.pid)
    with step("OPA is synced again"):
        await _until(lambda: _is_synced(sidecar, opa), _SELDOM)
    figure("opa_restarted_to_ready", time.perf_counter() - answers, "s", routes=load.routes, where=WHERE)
    used = processor_time(sidecar.pid)
    if before is not None and used is not None:
        figure("opa_restarted_cpu_bridge", used - before, "s", routes=load.routes, where=WHERE)
    used = processor_time(opa_below(sidecar.pid))
    if used is not None:
        figure("opa_restarted_cpu_opa", used, "s", routes=load.routes, where=WHERE)


async def _api_server_restarted(plane: ControlPlane, api: aiohttp.ClientSession, opa: Opa, load: Load) -> None:
    """Kill the API server; measure from its readiness until OPA has a later change."""
    await asyncio.to_thread(plane.stop_api_server)
    await asyncio.sleep(3)
    await asyncio.to_thread(plane.start_api_server)
    ready = time.perf_counter()
    version = await _touch(api, 1, "restarted")
    await _until_has(opa, 1, version)
    figure("api_server_restarted_to_visible", time.perf_counter() - ready, "s", routes=load.routes, where=WHERE)


async def _touch(api: aiohttp.ClientSession, route: int, mark: str) -> str:
    """Change an annotation of a route; gives its new resourceVersion."""
    metadata = {"name": f"route-{route}", "namespace": namespace_of(route)}
    obj = {"apiVersion": f"{GATEWAY_API}/v1", "kind": "HTTPRoute", "metadata": metadata}
    answer = await patch(api, obj, {"metadata": {"annotations": {"bench": mark}}})
    return str(answer["metadata"]["resourceVersion"])


async def _until_has(opa: Opa, route: int, version: str) -> None:
    """Wait until OPA has a route in this version or a later one."""
    place = f"objects/{GATEWAY_API}/HTTPRoute/{namespace_of(route)}/route-{route}/metadata/resourceVersion"

    async def has() -> bool:
        return int(await opa.get(place) or 0) >= int(version)

    await _until(has)


async def _writes(opa: Opa) -> int:
    """The number of the bridge's last write."""
    (place,) = (await opa.get(MARKER) or {})["at"]
    return int(place.rpartition(".")[2])


async def _not(answer: Awaitable[bool]) -> bool:
    return not await answer


async def _is_synced(sidecar: Sidecar, opa: Opa) -> bool:
    if not (await opa.get(MARKER) or {}).get("filled"):
        return False
    try:
        async with aiohttp.ClientSession() as session, session.get(f"{sidecar.url}/readyz") as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


async def _until(done: Callable[[], Awaitable[bool]], look: float = _LOOK) -> None:
    async with asyncio.timeout(_PATIENCE):
        while True:
            try:
                if await done():
                    return
            except OpaError:
                pass
            await asyncio.sleep(look)
