"""Measure one effective policy by the number of policies on the path, and by the leaves of each spec."""

from __future__ import annotations

import aiohttp

from bridge.model.changes import Object
from hack.bench.figures import figure, percentile, progress, spread_of
from hack.bench.load import POLICY_KIND, Load, namespace_of, rule_key
from hack.bench.opa_alone import WHERE, opa_with
from hack.bench.queries import ask

STACKS = (1, 4, 16, 64)
LEAVES = (10, 1_000)
ROUTES = 50  # each has its own query and its own policies
FEW = 10  # leaves where stacks are compared
PAIR = 2  # policies where leaves are compared


async def measure(_: int) -> None:
    """Measure `effective` for one rule: 1 to 64 patches, and pairs with 10 and 1,000 leaves each."""
    stacks = {size: await _median(size, FEW) for size in STACKS}
    for size, took in stacks.items():
        figure("effective_stack_ratio", took / stacks[STACKS[0]], "ratio", policies=size, leaves=FEW, where=WHERE)
    pairs = {leaves: await _median(PAIR, leaves) for leaves in LEAVES}
    for leaves, took in pairs.items():
        figure("effective_leaves_ratio", took / pairs[LEAVES[0]], "ratio", policies=PAIR, leaves=leaves, where=WHERE)


async def _median(size: int, leaves: int) -> float:
    """The p50 of OPA's time, in milliseconds."""
    progress(f"{size} policies of {leaves:,} leaves on one path")
    load = Load(ROUTES)
    policies = [_patch(route, number, leaves) for route in range(ROUTES) for number in range(size)]
    inside = []
    async with opa_with(load, policies) as url, aiohttp.ClientSession() as session:
        for route in range(ROUTES):
            query_input = {"targets": [rule_key(route, "first")], "policyKind": POLICY_KIND}
            result, opa, _ = await ask(session, url, "effective", query_input)
            if len(result[0]["paths"][0]["policies"]) != size:
                raise RuntimeError(f"{size} policies expected: {str(result)[:500]}")
            inside.append(opa * 1e3)
    more = {"policies": size, "leaves": leaves, "where": WHERE}
    figure("effective_one_path_opa", percentile(inside, 0.5), "ms", **spread_of(inside), **more)
    return percentile(inside, 0.5)


def _patch(route: int, number: int, leaves: int) -> Object:
    """A policy by field; half of its leaves are also the next one's."""
    first = number * leaves // 2
    colors = {f"leaf-{leaf}": f"{number}" for leaf in range(first, first + leaves)}
    ref = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": f"route-{route}"}
    return {
        "apiVersion": "example.com/v1",
        "kind": "ColorPolicy",
        "metadata": {"name": f"route-{route}-{number}", "namespace": namespace_of(route)},
        "spec": {"targetRefs": [ref], "defaults": {"strategy": "patch", "colors": colors}},
    }
