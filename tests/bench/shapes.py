"""Measure commands on folders of shapes that strain one thing: many routes, many policies, many listeners."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from bridge.model.changes import Object
from tests.bench.load import Load, custom_resources, namespace_of, route_policy, write
from tests.bench.table import Figures
from tests.builders import GATEWAY_API, gateway, http_route, policy, policy_kind, resource, target_ref
from tests.processes import ROOT, Program

RUNS = 3
POLICIES = 4_000  # of one kind, at one Gateway
LISTENERS, ROUTES = 64, 400  # of one Gateway
MANAGED = {"mode": "Manage", "controllerName": "example.com/limits"}
_OF_THE_BRIDGE = "policybridge.io"
ROUTE = 5


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the processor time of each command."""
    load = Load(routes)
    # No folder of users has the bridge's CRDs, which mention Rego.
    foreign = {crd["metadata"]["name"] for crd in custom_resources() if crd["spec"]["group"] == _OF_THE_BRIDGE}
    many_routes = _written(folder, "routes", (one for one in load.objects() if one["metadata"]["name"] not in foreign))
    many_policies = _written(folder, "policies", _at_one_gateway(POLICIES))
    many_listeners = _written(folder, "listeners", _below_listeners())
    changed = load.routes_with_policy()[0]
    change = _written(folder, "change", [route_policy(changed, changed + 1)])
    one_route = ("effective", f"httproute/route-{ROUTE}", "-n", namespace_of(ROUTE), "--manifests", many_routes)
    commands = {
        "command_small": ("effective", "httproute/cart", "-n", "shop", "--manifests", str(ROOT / "examples/shop")),
        "folder_effective": one_route,
        "folder_explain": ("explain", *one_route[1:]),
        "folder_policies": ("get", "policies", "-A", "--manifests", many_routes),
        "folder_problems": ("problems", "--manifests", many_routes),
        "folder_status": ("status", "-A", "--manifests", many_routes),
        "folder_analyze": ("analyze", "-f", change, "--manifests", many_routes),
        "many_policies": ("effective", "httproute/cart", "-n", "shop", "--manifests", many_policies),
        "many_listeners": ("status", "-A", "--manifests", many_listeners),
    }
    found = {}
    for name, words in commands.items():
        runs = RUNS if name == "command_small" else 1
        times = [await asyncio.to_thread(program.processor_time, *words) for _ in range(runs)]
        found[name] = median(times)
    return found


def _written(folder: Path, name: str, objects: Iterable[Object]) -> str:
    (folder / name).mkdir()
    write(folder / name / "objects.yaml", objects)
    return str(folder / name)


def _at_one_gateway(number: int) -> Iterable[Object]:
    kind = policy_kind("LimitPolicy", effectiveTarget="Rule", defaultStrategy="PatchDefaults", sameLevel="Conflict")
    yield from (_gateway_class(), gateway("edge"), http_route("cart", parents=["edge"]), kind)
    yield from (policy("LimitPolicy", f"p{i:04}", [target_ref("Gateway", "edge")], limit=i) for i in range(number))


def _below_listeners() -> Iterable[Object]:
    kind = policy_kind("LimitPolicy", effectiveTarget="Rule", defaultStrategy="PatchDefaults", **MANAGED)
    yield from (_gateway_class(), gateway("edge", ports=range(8000, 8000 + LISTENERS)), kind)
    yield policy("LimitPolicy", "p", [target_ref("Gateway", "edge")], limit=1)
    rules = [{"name": "first"}, {"name": "second"}]
    yield from (http_route(f"route-{number}", parents=["edge"], rules=rules) for number in range(ROUTES))


def _gateway_class() -> Object:
    return resource(f"{GATEWAY_API}/v1", "GatewayClass", "main", spec={"controllerName": "example.com/gateway"})
