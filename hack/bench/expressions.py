"""Count the expressions that OPA evaluates for each query, and measure stacks of policies, on a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import aiohttp

from bridge.model.changes import Object
from hack.bench import queries
from hack.bench.load import GATEWAYS, LISTENERS, POLICY_KIND, Load, bare_gateway, namespace_of, rule_key, write
from hack.bench.table import Figures
from hack.processes import BridgeProcess, Program

SMALL = 10  # the load has this fraction of the routes
FEW, MORE = 2, 6  # targets of two batches, whose difference is the cost of further targets
STACKS = (1, 64)
SAMPLES = 4  # routes with a stack of each size
ROUNDS = 12  # queries of each of them
LEAVES = 10


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the counts at a tenth of the routes, and the ratio of a stack of 64 policies to a stack of one."""
    load = Load(max(routes // SMALL, MORE * GATEWAYS * LISTENERS))
    manifests = folder / "manifests"
    manifests.mkdir()
    write(manifests / "load.yaml", load.objects())
    write(manifests / "stacks.yaml", _stacks())
    options = ["--manifests", str(manifests), "--listen", "127.0.0.1:0"]
    bridge = BridgeProcess("expressions", folder, options, {}, program)
    try:
        await bridge.start()
        await bridge.logged("OPA synced")
        async with aiohttp.ClientSession() as session:
            return {**await _counts(session, bridge.opa_url, load), "stack": await _stack(session, bridge.opa_url)}
    finally:
        await asyncio.to_thread(bridge.kill)


async def count_one(session: aiohttp.ClientSession, url: str) -> int:
    """Return the expressions of `effective` for one rule that every load has."""
    return await queries.expressions(session, url, "effective", _targets([rule_key(5, "[1]")]))


async def _counts(session: aiohttp.ClientSession, url: str, load: Load) -> dict[str, float]:
    route = load.routes_with_policy()[0]
    policy = f"{POLICY_KIND}/{namespace_of(route)}/route-{route}"
    change = {"keys": [policy], "was": {}, "targets": {}, "kept": {}, "former": [], "observed": True, "most": 100}
    found: dict[str, float] = {
        "effective": await count_one(session, url),
        "explain": await queries.expressions(session, url, "explain", {"target": rule_key(5, "[1]")}),
        "links": await queries.expressions(session, url, "links", {"keys": [policy]}),
        "remediation": await queries.expressions(session, url, "remediation", change),
    }
    # Rules of routes of one listener, which have all but their own policies in common.
    rules = [rule_key(number * GATEWAYS * LISTENERS, "[1]") for number in range(MORE)]
    for query in ("effective", "outcomes"):
        few, more = [await queries.expressions(session, url, query, _targets(rules[:count])) for count in (FEW, MORE)]
        found[f"{query}_batch"] = (more - few) / (MORE - FEW)
    return found


async def _stack(session: aiohttp.ClientSession, url: str) -> float:
    times: dict[int, list[float]] = {size: [] for size in STACKS}
    for _ in range(ROUNDS):
        for sample in range(SAMPLES):
            for size in STACKS:
                target = f"gateway.networking.k8s.io/HTTPRoute/team-0/stack-{size}-{sample}#first"
                result, took = await queries.ask(session, url, "effective", _targets([target]))
                if len(result[0]["paths"][0]["policies"]) != size:
                    raise RuntimeError(f"{size} policies expected: {str(result)[:500]}")
                times[size].append(took)
    one, many = (median(times[size]) for size in STACKS)
    return many / one


def _targets(keys: list[str]) -> dict[str, object]:
    return {"targets": keys, "policyKind": POLICY_KIND}


def _stacks() -> Iterator[Object]:
    """Yield routes below a Gateway without policies, with 1 and with 64 policies of their own each."""
    yield bare_gateway("bare")
    for size in STACKS:
        for sample in range(SAMPLES):
            name = f"stack-{size}-{sample}"
            rules = [{"name": "first", "backendRefs": [{"name": "service-0", "port": 80}]}]
            spec = {"parentRefs": [{"name": "bare", "namespace": "infra"}], "rules": rules}
            yield {
                "apiVersion": "gateway.networking.k8s.io/v1",
                "kind": "HTTPRoute",
                "metadata": {"name": name, "namespace": "team-0"},
                "spec": spec,
            }
            yield from (_patch(name, number) for number in range(size))


def _patch(route: str, number: int) -> Object:
    """Return a policy that is merged by field; half of its leaves are also the next one's."""
    first = number * LEAVES // 2
    colors = {f"leaf-{leaf}": f"{number}" for leaf in range(first, first + LEAVES)}
    ref = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": route}
    return {
        "apiVersion": "example.com/v1",
        "kind": "ColorPolicy",
        "metadata": {"name": f"{route}-{number}", "namespace": "team-0"},
        "spec": {"targetRefs": [ref], "defaults": {"strategy": "patch", "colors": colors}},
    }
