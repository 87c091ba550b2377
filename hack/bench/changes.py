"""Measure changes: from a PATCH's response to its effect in OPA and to the statuses in the API server."""

from __future__ import annotations

import asyncio
import random
import time

import aiohttp

from bridge.model.keys import key_of
from hack.bench.api import Watched, patch, settled
from hack.bench.figures import figure, percentile, spread_of, step
from hack.bench.load import POLICY_KIND, Load, accent, gateway_of, route_policy, rule_key
from hack.bench.queries import ask
from hack.bench.sidecar import Sidecar

CHANGES = 50
GATEWAY_CHANGES = 4
WHERE = "cluster"
_ACCENT = "/colors/accent"
_PATIENCE = 30.0  # seconds for one change
_LOOK = 0.001  # seconds between two looks


async def route_policies(
    api: aiohttp.ClientSession, opa: aiohttp.ClientSession, sidecar: Sidecar, watched: Watched, load: Load
) -> None:
    """Change route policies one by one, and measure the time until the effective spec and the status follow."""
    effective, status = [], []
    chosen = await _winning(opa, sidecar.opa_url, load)
    pause = random.Random(3)
    for number in range(CHANGES):
        route = chosen[number % len(chosen)]
        policy = route_policy(route, route)
        wanted = accent(0x100000 + number)
        wrapper = "defaults" if "defaults" in policy["spec"] else "overrides"
        changed = await patch(api, policy, {"spec": {wrapper: {"colors": {"accent": wanted}}}})
        answered = time.perf_counter()
        async with asyncio.timeout(_PATIENCE):
            reported = asyncio.create_task(watched.until_observed(policy, changed["metadata"]["generation"]))
            await _until_accent(opa, sidecar.opa_url, rule_key(route, "[1]"), wanted)
            effective.append((time.perf_counter() - answered) * 1e3)
            status.append((await reported - answered) * 1e3)
        await asyncio.sleep(pause.uniform(0.02, 0.08))  # so that no two clocks go in step
    more = {"routes": load.routes, "where": WHERE}
    figure("change_to_effective", percentile(effective, 0.5), "ms", **spread_of(effective), **more)
    figure("change_to_status", percentile(status, 0.5), "ms", **spread_of(status), **more)


async def gateway_policy(
    api: aiohttp.ClientSession, opa: aiohttp.ClientSession, sidecar: Sidecar, watched: Watched, load: Load
) -> None:
    """Change a Gateway's policy, and measure the time until the statuses of all routes below are written."""
    chosen = 1
    routes = [route for route in range(load.routes) if gateway_of(route) == chosen]
    rules = [rule_key(route, name) for route in routes for name in ("first", "[1]")]
    name = f"gateway-{chosen}"
    policy = {"apiVersion": "example.com/v1", "kind": "ColorPolicy", "metadata": {"name": name, "namespace": "infra"}}
    ratios, seconds, writes = [], [], []
    for number in range(GATEWAY_CHANGES):
        # Return alternately an override, which overrides all policies below, and a default.
        body = {"strategy": "atomic", "theme": "dark", "colors": {"accent": accent(number)}}
        wrapper, other = ("overrides", "defaults") if number % 2 == 0 else ("defaults", "overrides")
        before = watched.events
        with step(f"the policy of {name} changes, and all is quiet again"):
            await patch(api, policy, {"spec": {wrapper: body, other: None}})
            answered = time.perf_counter()
            ended = await settled(watched, answered, 300)
        _, _, query = await ask(opa, sidecar.opa_url, "effective", {"targets": rules, "policyKind": POLICY_KIND})
        seconds.append(ended - answered)
        ratios.append((ended - answered) / query)
        writes.append(watched.events - before - 1)  # one event is the change itself
    more = {"scopes": len(rules), "status_writes": writes, "routes": load.routes, "where": WHERE}
    figure("gateway_change_to_settled", percentile(seconds, 0.5), "s", **more)
    figure("gateway_change_to_one_query_ratio", percentile(ratios, 0.5), "ratio", **more)


async def _winning(opa: aiohttp.ClientSession, url: str, load: Load) -> list[int]:
    """Routes whose own policy gives their second rule its accent, so that a change of it can be seen there."""
    routes = load.routes_with_policy()
    random.Random(4).shuffle(routes)
    targets = {rule_key(route, "[1]"): route for route in routes[: 4 * CHANGES]}
    found, _, _ = await ask(opa, url, "effective", {"targets": list(targets), "policyKind": POLICY_KIND})
    winning = [
        route
        for entry in found
        for route in [targets[entry["target"]]]
        if entry["paths"][0]["origins"].get(_ACCENT) == str(key_of(route_policy(route, route)))
    ]
    if not winning:
        raise RuntimeError("no route's own policy holds there: the load is not what it should be")
    return winning


async def _until_accent(opa: aiohttp.ClientSession, url: str, target: str, wanted: str) -> None:
    while True:
        found, _, _ = await ask(opa, url, "effective", {"targets": [target], "policyKind": POLICY_KIND})
        if found[0]["paths"][0]["spec"]["colors"]["accent"] == wanted:
            return
        await asyncio.sleep(_LOOK)
