"""Measure a whole bridge on a real API server (initial sync, changes, a burst, a killed OPA), and commands on it."""

import asyncio
import json
import random
import signal
import time
from pathlib import Path

import aiohttp

from bridge.model.changes import Object
from bridge.sources.pruning import prune
from tests.bench.load import POLICY_KIND, Load, accent, namespace_of, route_policy, rule_key
from tests.bench.observed_statuses import (
    POLICIES,
    ROUTES,
    burst,
    create,
    create_load,
    list_raw,
    patch,
    session_of,
    until_all_observed,
    until_observed,
)
from tests.bench.opa import ask, plain_opa
from tests.bench.table import Figures
from tests.cluster import rego_config_map, running_cluster
from tests.figures import percentile, progress
from tests.processes import BridgeProcess, Program, memory, opa_below

CHANGES = 30
PENDING = 20  # changes while first statuses and marks are pending
ROUTE = 5  # of the questions of commands
OTHERS = 5  # ConfigMaps with Rego
_OF_OTHERS = "package others.module%d\n\nanswer := {name | some name, _ in data.objects}\n"
PATIENCE = 120.0  # seconds for one change
QUIET = 4.0  # seconds with few writes, after which a burst is over
_ACCENT = "/colors/accent"
_SETTINGS = {"BRIDGE_STATUS_WRITES_PER_SECOND": "100000"}  # what is measured is the bridge, not its budget


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return all figures of a cluster with this many routes."""
    load = Load(routes)
    async with running_cluster(folder / "control-plane") as plane, session_of(plane) as api:
        await create_load(plane, api, load)
        commands = await _commands(program, api, str(plane.kubeconfig))
        floor, floor_memory = await _floor(api, folder)
        options = ["--kubeconfig", str(plane.kubeconfig), "--listen", "127.0.0.1:0"]
        async with BridgeProcess(folder, options, _SETTINGS, program) as bridge:
            listing = time.monotonic()
            await bridge.logged("OPA synced")
            took, memories = time.monotonic() - listing, bridge.memories()
            found = {
                **commands,
                "sync_to_floor": took / floor,
                "sync_cpu_bridge": bridge.processor_times()["bridge"],
                "memory_opa": memories["opa"] / floor_memory,
                "memory_bridge": memories["bridge"],
                "status_pending_p99": await _pending(api, load),
            }
            progress("first statuses")
            await until_all_observed(api, POLICIES)
            return {**found, **await _settled(api, bridge, load)}


async def _commands(program: Program, api: aiohttp.ClientSession, kubeconfig: str) -> dict[str, float]:
    """Return the processor time of questions about one route, and how much more ConfigMaps with Rego of others cost."""
    progress("commands")
    found: dict[str, float] = {}
    for name in ("cluster", "others"):
        for command in ("effective", "explain"):
            words = (command, f"httproute/route-{ROUTE}", "-n", namespace_of(ROUTE), "--kubeconfig", kubeconfig)
            found[f"{name}_{command}"] = await asyncio.to_thread(program.processor_time, *words)
        if name == "cluster":
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "opa-policies"}}
            modules = [rego_config_map(f"other-{number}", _OF_OTHERS % number) for number in range(OTHERS)]
            await create(api, [namespace])
            await create(api, modules)
    for command in ("effective", "explain"):
        found[f"others_{command}"] -= found[f"cluster_{command}"]
    return found


async def _settled(api: aiohttp.ClientSession, bridge: BridgeProcess, load: Load) -> dict[str, float]:
    async with aiohttp.ClientSession() as opa:
        progress("marks")
        await _quiet(opa, bridge.opa_url)
        progress("changes")
        found = await _changes(api, opa, bridge, load)
        progress("burst")
        before = await _writes(opa, bridge.opa_url)
        await burst(api, load, {"annotations": {"bench": "burst"}})
        await _quiet(opa, bridge.opa_url)
        found["burst_writes"] = await _writes(opa, bridge.opa_url) - before
    progress("OPA is killed")
    killed = time.monotonic()
    bridge.signal("opa", signal.SIGKILL)
    await bridge.logged("OPA synced", count=2)
    return {**found, "killed": time.monotonic() - killed}


async def _floor(api: aiohttp.ClientSession, folder: Path) -> tuple[float, float]:
    """Return the seconds of one raw LIST of the routes and one raw PUT into an OPA, and the memory of this OPA."""
    routes, listed = await list_raw(api, ROUTES)
    objects: dict[str, dict[str, Object]] = {}
    for route in routes:
        objects.setdefault(route["metadata"]["namespace"], {})[route["metadata"]["name"]] = prune(route)
    async with aiohttp.ClientSession() as session, plain_opa(folder, session) as (url, shell):
        body = json.dumps(objects).encode()
        began = time.monotonic()
        async with session.put(f"{url}/v1/data/floor", data=body) as answer:
            answer.raise_for_status()
            await answer.read()
        return listed + time.monotonic() - began, memory(opa_below(shell) or 0)


async def _pending(api: aiohttp.ClientSession, load: Load) -> float:
    """Change policies right after the initial sync; return the p99 of the milliseconds until each has its status."""
    took = []
    for number, route in enumerate(load.routes_with_policy()[:PENDING]):
        changed, answered = await _change(api, route, 0x200000 + number)
        took.append((await until_observed(api, changed, PATIENCE) - answered) * 1e3)
    return percentile(took, 0.99)


async def _changes(
    api: aiohttp.ClientSession, opa: aiohttp.ClientSession, bridge: BridgeProcess, load: Load
) -> dict[str, float]:
    """Change route policies one by one; return the p50 of the milliseconds until OPA and the status follow."""
    effective, status = [], []
    chosen = await _winning(opa, bridge.opa_url, load)
    pause = random.Random(3)
    for number in range(CHANGES):
        route = chosen[number % len(chosen)]
        changed, answered = await _change(api, route, 0x100000 + number)
        reported = asyncio.create_task(until_observed(api, changed, PATIENCE))
        target = {"targets": [rule_key(route, "[1]")], "policyKind": POLICY_KIND}
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await ask(opa, bridge.opa_url, "effective", target)
                if found[0]["paths"][0]["spec"]["colors"]["accent"] == accent(0x100000 + number):
                    break
                await asyncio.sleep(0.001)
        effective.append((time.monotonic() - answered) * 1e3)
        status.append((await reported - answered) * 1e3)
        await asyncio.sleep(pause.uniform(0.02, 0.08))  # jitter, so that clocks do not synchronize
    return {"effective_p50": percentile(effective, 0.5), "status_p50": percentile(status, 0.5)}


async def _change(api: aiohttp.ClientSession, route: int, color: int) -> tuple[Object, float]:
    """Change the accent of a route's policy; return the changed policy, and the time of the answer."""
    policy = route_policy(route, route)
    wrapper = "defaults" if "defaults" in policy["spec"] else "overrides"
    changed = await patch(api, policy, {"spec": {wrapper: {"colors": {"accent": accent(color)}}}})
    return changed, time.monotonic()


async def _winning(opa: aiohttp.ClientSession, url: str, load: Load) -> list[int]:
    """Return routes whose own policy gives their second rule its accent, so that a change of it can be seen there."""
    routes = load.routes_with_policy()
    random.Random(4).shuffle(routes)
    targets = {rule_key(route, "[1]"): route for route in routes[: 4 * CHANGES]}
    found = await ask(opa, url, "effective", {"targets": list(targets), "policyKind": POLICY_KIND})
    winning = []
    for entry in found:
        route = targets[entry["target"]]
        own = f"{POLICY_KIND}/{namespace_of(route)}/route-{route}"
        if entry["paths"][0]["origins"].get(_ACCENT) == own:
            winning.append(route)
    return winning


async def _quiet(opa: aiohttp.ClientSession, url: str) -> None:
    """Wait until the bridge writes no more than its marker, which it renews every two seconds."""
    while True:
        before = await _writes(opa, url)
        await asyncio.sleep(QUIET)
        if await _writes(opa, url) - before <= QUIET / 2 + 1:
            return


async def _writes(opa: aiohttp.ClientSession, url: str) -> int:
    """Return the number of the writes to OPA's data so far, by OPA's own metrics."""
    async with opa.get(f"{url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    labels = ("http_request_duration_seconds_count{", 'handler="v1/data"', 'method="patch"')
    return sum(int(float(line.split()[-1])) for line in lines if all(label in line for label in labels))
