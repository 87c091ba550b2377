"""Count the expressions that OPA evaluates for each query, on a folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp

from hack.bench import queries
from hack.bench.load import POLICY_KIND, Load, namespace_of, rule_key, write
from hack.bench.table import Figures
from hack.processes import BridgeProcess, Program

SMALL = 10  # the load has this fraction of the routes


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the counts at a tenth of the routes."""
    load = Load(routes // SMALL)
    manifests = folder / "manifests"
    manifests.mkdir()
    write(manifests / "load.yaml", load.objects())
    options = ["--manifests", str(manifests), "--listen", "127.0.0.1:0"]
    bridge = BridgeProcess("expressions", folder, options, {}, program)
    try:
        await bridge.start()
        await bridge.logged("OPA synced")
        async with aiohttp.ClientSession() as session:
            return await _counts(session, bridge.opa_url, load)
    finally:
        await asyncio.to_thread(bridge.kill)


async def _counts(session: aiohttp.ClientSession, url: str, load: Load) -> dict[str, float]:
    route = load.routes_with_policy()[0]
    policy = f"{POLICY_KIND}/{namespace_of(route)}/route-{route}"
    change = {"keys": [policy], "was": {}, "targets": {}, "kept": {}, "former": [], "observed": True, "most": 100}
    target = {"targets": [rule_key(5, "[1]")], "policyKind": POLICY_KIND}
    return {
        "effective": await queries.expressions(session, url, "effective", target),
        "explain": await queries.expressions(session, url, "explain", {"target": rule_key(5, "[1]")}),
        "links": await queries.expressions(session, url, "links", {"keys": [policy]}),
        "remediation": await queries.expressions(session, url, "remediation", change),
    }
