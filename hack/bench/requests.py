"""Measure `request` and `explain`: OPA's time for one query where all routes are attached to one Gateway."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp

from bridge.model.changes import Object
from hack.bench.figures import figure, opa_below, percentile, processor_time, progress, spread_of
from hack.bench.load import Load, custom_resources, policy_kind, rule_key
from hack.bench.opa_alone import WHERE, filled_with
from hack.bench.queries import ask

REQUESTS = 100
HOST = "www.example.com"
GATEWAY = "gateway-0"

# What tells one route from another, and the path that a request for it has.
SHAPES: dict[str, tuple[Callable[[int], str], Callable[[int], str]]] = {
    "hostnames": (lambda number: f"route-{number}.example.com", lambda _: "/api"),
    "first_segments": (lambda _: HOST, lambda number: f"/route-{number}"),
    "later_segments": (lambda _: HOST, lambda number: f"/api/v1/route-{number}"),
}


async def measure(routes: int) -> None:
    """Measure requests of each shape: one that a rule serves, and one without a rule."""
    for shape, (host_of, path_of) in SHAPES.items():
        progress(f"{routes:,} routes that differ by their {shape.replace('_', ' ')}")
        objects = [*custom_resources(), policy_kind(), *_objects(routes, host_of, path_of)]
        async with filled_with(objects) as (url, _, _), aiohttp.ClientSession() as session:
            chosen = random.Random(3).sample(range(routes), min(REQUESTS, routes))
            inputs = [{"host": host_of(number), "path": f"{path_of(number)}/x", "port": 80} for number in chosen]
            await _ask(session, url, shape, "served", inputs, routes)
            # A number that no route has.
            nobody = [{"host": host_of(routes + n), "path": path_of(routes + n), "port": 80} for n in range(10)]
            await _explain(session, url, shape, chosen, routes)
            await _ask(session, url, shape, "unserved" if shape != "hostnames" else "unknown_host", nobody, routes)


async def _ask(
    session: aiohttp.ClientSession, url: str, shape: str, what: str, requests: list[dict[str, Any]], routes: int
) -> None:
    times = []
    pid = opa_below(os.getpid())
    before = processor_time(pid)
    for query_input in requests:
        result, opa, _ = await ask(session, url, "request", query_input)
        if (result["rule"] is not None) != (what == "served"):
            raise RuntimeError(f"{query_input}: {result}")
        times.append(opa * 1e3)
    after = processor_time(pid)
    about = {"routes": routes, "where": WHERE, "shape": shape, **spread_of(times)}
    figure(f"request_{what}_opa", percentile(times, 0.5), "ms", **about)
    if before is not None and after is not None:
        cpu = (after - before) / len(requests) * 1e3
        figure(f"request_{what}_cpu", cpu, "ms", routes=routes, where=WHERE, shape=shape)


async def _explain(session: aiohttp.ClientSession, url: str, shape: str, chosen: list[int], routes: int) -> None:
    times = []
    for number in chosen:
        _, opa, _ = await ask(session, url, "explain", {"target": rule_key(number, "first")})
        times.append(opa * 1e3)
    figure("explain_opa", percentile(times, 0.5), "ms", routes=routes, where=WHERE, shape=shape, **spread_of(times))


def _objects(routes: int, host_of: Callable[[int], str], path_of: Callable[[int], str]) -> Iterator[Object]:
    load = Load(routes)
    for obj in load.bases():
        if obj["kind"] == "Gateway":
            if obj["metadata"]["name"] != GATEWAY:
                continue
            listener = {
                "name": "http",
                "port": 80,
                "protocol": "HTTP",
                "allowedRoutes": {"namespaces": {"from": "All"}},
            }
            obj["spec"]["listeners"] = [listener]
        yield obj
    yield from (policy for policy in load.policies() if policy["metadata"]["name"] == GATEWAY)
    for number, route in enumerate(load.http_routes()):
        route["spec"]["parentRefs"] = [{"name": GATEWAY, "namespace": "infra"}]
        route["spec"]["hostnames"] = [host_of(number)]
        first = route["spec"]["rules"][0]
        first["matches"] = [{"path": {"type": "PathPrefix", "value": path_of(number)}}]
        route["spec"]["rules"] = [first]
        yield route
