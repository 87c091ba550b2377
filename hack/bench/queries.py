"""Measure queries of a synced OPA: one rule, and all rules in batches."""

from __future__ import annotations

import random
import time
from typing import Any

import aiohttp
import msgspec

from bridge.replicator.links import LinkFields
from bridge.replicator.pending import prune
from hack.bench.figures import figure, percentile, processor_time, spread_of
from hack.bench.load import POLICY_KIND, Load, as_created

ONE_TARGET = 300  # queries of one rule
BATCH = 1_000
_JSON = {"Content-Type": "application/json"}
LINKS_BATCH = 500  # objects in one query, as the bridge sends it


async def ask(
    session: aiohttp.ClientSession, url: str, name: str, query_input: dict[str, Any]
) -> tuple[Any, float, float]:
    """Return a query's result, OPA's time and the client's time, both in seconds."""
    began = time.perf_counter()
    document = f"{url}/v1/data/bridge/v1/{name}?metrics=true"
    async with session.post(document, data=msgspec.json.encode({"input": query_input}), headers=_JSON) as response:
        answer = await response.json()
    took = time.perf_counter() - began
    if response.status != 200 or "error" in answer.get("result", {"error": ""}):
        raise RuntimeError(f"query {name}: {str(answer)[:500]}")
    return answer["result"], answer["metrics"]["timer_server_handler_ns"] / 1e9, took


async def one_target(session: aiohttp.ClientSession, url: str, pid: int | None, load: Load, where: str) -> float:
    """Measure `effective` for one rule at a time; return the p50 of OPA's time in seconds. `pid` is OPA's."""
    chosen = random.Random(1).sample(load.rules(), min(ONE_TARGET, load.routes))
    inside, outside = [], []
    before = processor_time(pid)
    for target in chosen:
        _, opa, wall = await ask(session, url, "effective", {"targets": [target], "policyKind": POLICY_KIND})
        inside.append(opa * 1e3)
        outside.append(wall * 1e3)
    more = {"routes": load.routes, "where": where}
    figure("effective_one_rule_opa", percentile(inside, 0.5), "ms", **spread_of(inside), **more)
    figure("effective_one_rule_wall", percentile(outside, 0.5), "ms", **spread_of(outside), **more)
    _processor("effective_one_rule_cpu", before, processor_time(pid), len(chosen), **more)
    return percentile(inside, 0.5) / 1e3


async def all_rules(
    session: aiohttp.ClientSession, url: str, pid: int | None, load: Load, where: str, query: str
) -> None:
    """Measure all rules in batches, with `query` effective or outcomes. `pid` is OPA's."""
    rules = load.rules()
    random.Random(2).shuffle(rules)
    inside = outside = 0.0
    before = processor_time(pid)
    for start in range(0, len(rules), BATCH):
        batch = rules[start : start + BATCH]
        result, opa, wall = await ask(session, url, query, {"targets": batch, "policyKind": POLICY_KIND})
        if len(result) != len(batch):
            raise RuntimeError(f"{len(batch)} rules query_input, {len(result)} answered")
        inside += opa
        outside += wall
    more = {"targets": len(rules), "batch": BATCH, "routes": load.routes, "where": where}
    figure(f"{query}_all_rules_opa", inside / len(rules) * 1e6, "us/target", seconds=inside, **more)
    figure(f"{query}_all_rules_wall", outside / len(rules) * 1e6, "us/target", seconds=outside, **more)
    _processor(f"{query}_all_rules_cpu", before, processor_time(pid), len(rules), **more)


async def links_of_all(session: aiohttp.ClientSession, url: str, pid: int | None, load: Load, where: str) -> None:
    """Measure `links`, which computes links and facts, for all objects of the load in batches."""
    reads, _, _ = await ask(session, url, "link_fields", {})
    reading = LinkFields(reads)
    objects = [reading.of(prune(as_created(obj))) for obj in load.objects()]
    inside = 0.0
    before = processor_time(pid)
    for start in range(0, len(objects), LINKS_BATCH):
        batch = objects[start : start + LINKS_BATCH]
        _, opa, _ = await ask(session, url, "links", {"objects": batch, "reads": reading.fields})
        inside += opa
    more = {"objects": len(objects), "batch": LINKS_BATCH, "routes": load.routes, "where": where}
    figure("links_opa", inside / len(objects) * 1e6, "us/object", seconds=inside, **more)
    if before is not None and (after := processor_time(pid)) is not None:
        figure("links_cpu", (after - before) / len(objects) * 1e6, "us/object", **more)


def _processor(name: str, before: float | None, after: float | None, count: int, **more: Any) -> None:
    if before is not None and after is not None:
        figure(name, (after - before) / count * 1e6, "us/target", **more)
