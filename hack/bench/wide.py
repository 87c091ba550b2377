"""Measure one change with the widest effect: the policy of a Gateway that all routes are attached to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import aiohttp

from bridge.model.changes import Object
from bridge.model.types import ALWAYS
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from bridge.pacing import Budget
from bridge.remediator.sink import MemorySink
from bridge.remediator.statuses.remediator import Remediator
from bridge.replicator.replicator import Replicator
from bridge.resources import rego_root
from hack.bench.figures import figure, percentile, step
from hack.bench.load import POLICY_KIND, Load, accent, as_created, gateway_of
from hack.bench.opa_alone import WHERE
from hack.bench.queries import BATCH, ask
from hack.bench.sidecar import WRITES
from hack.tools import ensure
from tests.integration.scripted import ScriptedSource

CHANGES = 2
PATIENCE = 600.0  # seconds for all of it
GATEWAY = "gateway-0"


async def measure(routes: int) -> None:
    """Measure the time until every scope is recomputed and the statuses are complete, in memory."""
    load = Load(routes)
    source = ScriptedSource(list(_below_one_gateway(load)))
    executable = await asyncio.to_thread(ensure, "opa")
    async with (
        ManagedOpa(executable.path, {}, bundle=shipped_bundle(rego_root())) as managed,
        Opa(managed.url, timeout=PATIENCE) as opa,
        aiohttp.ClientSession() as session,
    ):
        replicator, remediator = Replicator(source, opa, ALWAYS), Remediator(opa, MemorySink(), Budget(WRITES, WRITES))
        replicator.listen(remediator.note)
        noticed = asyncio.Event()
        replicator.listen(lambda _: noticed.set())
        tasks = [asyncio.create_task(work.run()) for work in (replicator, remediator)]
        try:
            async with asyncio.timeout(PATIENCE):
                with step("OPA is synced and all statuses are written"):
                    await replicator.filled.wait()
                    await remediator.settled()
                await _changed(source, remediator, noticed, session, managed.url, load)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _changed(
    source: ScriptedSource,
    remediator: Remediator,
    noticed: asyncio.Event,
    session: aiohttp.ClientSession,
    url: str,
    load: Load,
) -> None:
    seconds, ratios, writes = [], [], []
    for number in range(CHANGES):
        before, began = remediator.writes, time.perf_counter()
        with step(f"the policy of {GATEWAY} changes, and all is quiet again"):
            noticed.clear()
            source.put(_policy(number))
            await noticed.wait()
            await remediator.settled()
        seconds.append(time.perf_counter() - began)
        writes.append(remediator.writes - before)
        ratios.append(seconds[-1] / await _one_batched_query(session, url, load))
    more = {"scopes": len(load.rules()), "status_writes": writes, "routes": load.routes, "where": WHERE}
    figure("wide_change_to_settled", percentile(seconds, 0.5), "s", **more)
    figure("wide_change_to_batched_query_ratio", percentile(ratios, 0.5), "ratio", **more)


async def _one_batched_query(session: aiohttp.ClientSession, url: str, load: Load) -> float:
    rules = load.rules()
    took = 0.0
    for start in range(0, len(rules), BATCH):
        batch = rules[start : start + BATCH]
        _, _, wall = await ask(session, url, "effective", {"targets": batch, "policyKind": POLICY_KIND})
        took += wall
    return took


def _below_one_gateway(load: Load) -> Iterator[Object]:
    """The load with every route moved to the first Gateway, and with ages."""
    for number, route in enumerate(load.http_routes()):
        spec = route["spec"]
        hostnames = [name.replace(f".g{gateway_of(number)}.", ".g0.") for name in spec["hostnames"]]
        moved = {**spec, "parentRefs": [{"name": GATEWAY, "namespace": "infra"}], "hostnames": hostnames}
        yield as_created({**route, "spec": moved})
    for obj in load.objects():
        if obj["kind"] != "HTTPRoute":
            yield as_created(obj)


def _policy(number: int) -> Object:
    """Return alternately an override, which overrides all policies below, and a default."""
    wrapper = "overrides" if number % 2 == 0 else "defaults"
    ref = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": GATEWAY}
    body = {"strategy": "atomic", "theme": "dark", "colors": {"accent": accent(number)}}
    return as_created(
        {
            "apiVersion": "example.com/v1",
            "kind": "ColorPolicy",
            "metadata": {"name": GATEWAY, "namespace": "infra"},
            "spec": {"targetRefs": [ref], wrapper: body},
        }
    )
