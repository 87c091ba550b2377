"""Measure what guardrails cost: the first audit, the objects of a change, a request, and a suite of expectations."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from bridge.model.changes import Object
from bridge.model.keys import key_of
from bridge.opa.judging import BATCH
from tests.bench.load import GATEWAY_API, POLICY_KIND, Load, namespace_of, options_for, route_policy, write
from tests.bench.opa import ask
from tests.bench.table import Figures
from tests.bench.wide import quiet
from tests.figures import percentile, progress
from tests.processes import BridgeProcess, Program

ROUTE_CHANGES, REQUESTS, EXPECTATIONS = 30, 100, 200
SUITE_ROUTES = 1_800  # with what belongs to them, 2,000 objects
_SETTINGS = {"BRIDGE_STATUS_WRITES_PER_SECOND": "100000"}  # what is measured is the bridge, not its budget
_RULES = [
    *(("required_policy", {"kinds": [POLICY_KIND], "field": one}) for one in ("/colors", "/contrast", "", "/theme")),
    *(("bounded_field", {"kind": POLICY_KIND, "field": "/contrast", "maximum": most}) for most in range(10, 18)),
    *(("field_owner", {"kind": POLICY_KIND, "field": "/theme", "namespaces": [f"team-{n}*"]}) for n in range(6)),
    *(("no_weakening", {"kinds": [POLICY_KIND], "fields": [one]}) for one in ("/contrast", "/colors")),
]


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the figures of 20 guardrails on all routes of a folder."""
    load = Load(routes)
    options = options_for(folder, load.objects())
    requests = list(_requests(load))
    async with aiohttp.ClientSession() as session:
        async with _bridge(folder / "without", options, program) as bridge:
            statuses = await _after_sync(bridge)
            without = await _timed(session, bridge, requests)
        write(folder / "manifests" / "guardrails.yaml", _constraints())
        async with _bridge(folder / "with", options, program) as bridge:
            both = await _after_sync(bridge)
            with_guardrails = await _timed(session, bridge, requests)
            progress("changes")
            changed = load.routes_with_policy()[:ROUTE_CHANGES]
            after_route = [await _judged(session, bridge, route_policy(route, route)) for route in changed]
            gateway = next(obj for obj in load.policies() if obj["metadata"]["name"] == "gateway-0")
            after_gateway = await _judged(session, bridge, gateway)
    return {
        "guardrails_audit": (both - statuses) / statuses,
        "guardrails_route": percentile(after_route, 0.5) * 1e3,
        "guardrails_gateway": after_gateway * 1e3,
        "guardrails_admission": with_guardrails / without,
        "suite": await asyncio.to_thread(_suite, program, folder),
    }


def _bridge(folder: Path, options: Sequence[str], program: Program) -> BridgeProcess:
    folder.mkdir()
    return BridgeProcess(folder, options, _SETTINGS, program)


async def _after_sync(bridge: BridgeProcess) -> float:
    """Return the processor time from the sync of OPA until everything is computed."""
    await bridge.logged("OPA synced")
    before = sum(bridge.processor_times().values())
    await quiet(bridge)
    return sum(bridge.processor_times().values()) - before


async def _timed(session: aiohttp.ClientSession, bridge: BridgeProcess, requests: Sequence[Any]) -> float:
    """Return the p50 of the seconds of decisions."""
    took = []
    for request in requests:
        began = time.perf_counter()
        await ask(session, bridge.opa_url, "admission", request)
        took.append(time.perf_counter() - began)
    return percentile(took, 0.5)


async def _judged(session: aiohttp.ClientSession, bridge: BridgeProcess, policy: Object) -> float:
    """Return the seconds of the queries that the audit sends after a change of a policy."""
    began = time.perf_counter()
    change = {"keys": [str(key_of(policy))], "was": {}, "wanted": {"guarded": {}}}
    affected = (await ask(session, bridge.opa_url, "outdated", change))["guarded"]
    for start in range(0, len(affected), BATCH):
        await ask(session, bridge.opa_url, "violations", {"objects": affected[start : start + BATCH]})
    return time.perf_counter() - began


def _constraints() -> Iterator[Object]:
    for number, (guardrail, parameters) in enumerate(_RULES):
        yield {
            "apiVersion": "policybridge.io/v1alpha1",
            "kind": "Constraint",
            "metadata": {"name": f"guardrail-{number}"},
            "spec": {
                "policy": f"bridge.guardrails.{guardrail}",
                "match": {"kinds": [{"apiGroups": [GATEWAY_API], "kinds": ["HTTPRoute"]}]},
                "parameters": parameters,
            },
        }


def _requests(load: Load) -> Iterator[dict[str, Any]]:
    """Return requests that change the policies of routes."""
    routes = load.routes_with_policy()
    for number in range(REQUESTS):
        route = routes[number % len(routes)]
        policy = route_policy(route, route)
        group, _, kind = POLICY_KIND.partition("/")
        yield {
            "operation": "UPDATE",
            "kind": {"group": group, "version": "v1", "kind": kind},
            "namespace": namespace_of(route),
            "name": policy["metadata"]["name"],
            "object": route_policy(route, route + 1),
            "oldObject": policy,
        }


def _suite(program: Program, folder: Path) -> float:
    """Return the ratio of the processor times of a suite and of `pbctl effective`, about the same folder."""
    place = folder / "suite"
    place.mkdir()
    load = Load(SUITE_ROUTES, gateways=4)
    write(place / "load.yaml", load.objects())
    targets = [f"HTTPRoute/{namespace_of(number)}/route-{number}#first" for number in range(EXPECTATIONS)]
    tests = [{"name": one, "effective": [{"target": one, "policyKind": "ColorPolicy"}]} for one in targets]
    suite = {"apiVersion": "test.policybridge.io/v1alpha1", "kind": "Suite", "manifests": ["load.yaml"], "tests": tests}
    write(place / "suite.yaml", [suite])
    tested = program.processor_time("test", str(place / "suite.yaml"))
    return tested / program.processor_time("effective", "--manifests", str(place / "load.yaml"))
