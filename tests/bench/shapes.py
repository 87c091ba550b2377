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
POLICIES = 5_000  # of one kind, at one Gateway
LISTENERS, ROUTES = 64, 400  # of one Gateway
MANAGED = {"mode": "Manage", "controllerName": "example.com/limits"}
_OF_THE_BRIDGE = "policybridge.io"
NAMESPACES = 10_000  # with a route each
RULES, MATCHES, PARENTS = 16, 8, 64  # of one route
DIFFERENT = 3_000  # routes whose links have no shape in common
FACTOR = 5  # of the routes in the folder that is measured for its memory
ROUTE = 5


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the processor time of each command, and the memory of some."""
    load = Load(routes)
    many_routes = _written(folder, "routes", _objects(load))
    many_policies = _written(folder, "policies", _at_one_gateway(POLICIES))
    many_listeners = _written(folder, "listeners", _below_listeners())
    many_namespaces = _written(folder, "namespaces", _in_namespaces())
    large_route = _written(folder, "large", _large_route())
    different = _written(folder, "different", _different_routes())
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
        "many_namespaces": ("effective", "httproute/cart", "-n", "team-7", "--manifests", many_namespaces),
        "large_route": ("explain", "httproute/large", "-n", "shop", "--manifests", large_route),
        "different_routes": ("status", "-A", "--manifests", different),
    }
    found = {}
    for name, words in commands.items():
        runs = RUNS if name == "command_small" else 1
        used = [await asyncio.to_thread(program.use, *words) for _ in range(runs)]
        found[name] = median(one.seconds for one in used)
        found[f"{name}_opa"] = max(one.memory_of_opa for one in used)
    more_routes = _written(folder, "more", _objects(Load(FACTOR * routes)))
    largest = await asyncio.to_thread(program.use, *one_route[:-1], more_routes)
    return {**found, "largest_memory": largest.memory, "largest_memory_opa": largest.memory_of_opa}


def _objects(load: Load) -> Iterable[Object]:
    # No folder of users has the bridge's CRDs, which mention Rego.
    foreign = {crd["metadata"]["name"] for crd in custom_resources() if crd["spec"]["group"] == _OF_THE_BRIDGE}
    return (one for one in load.objects() if one["metadata"]["name"] not in foreign)


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


def _in_namespaces() -> Iterable[Object]:
    kind = policy_kind("LimitPolicy", effectiveTarget="Rule", defaultStrategy="PatchDefaults")
    edge = gateway("edge")
    edge["spec"]["listeners"][0]["allowedRoutes"] = {"namespaces": {"from": "All"}}
    yield from (_gateway_class(), edge, kind, policy("LimitPolicy", "p", [target_ref("Gateway", "edge")], limit=1))
    for number in range(NAMESPACES):
        yield resource("v1", "Namespace", f"team-{number}")
        parents = {"parentRefs": [{"name": "edge", "namespace": edge["metadata"]["namespace"]}]}
        yield http_route("cart", f"team-{number}", spec=parents)


def _large_route() -> Iterable[Object]:
    kind = policy_kind("LimitPolicy", effectiveTarget="Rule", defaultStrategy="PatchDefaults", **MANAGED)
    yield from (_gateway_class(), gateway("edge", ports=range(8000, 8000 + PARENTS)), kind)
    yield policy("LimitPolicy", "p", [target_ref("Gateway", "edge")], limit=1)
    paths = [[{"path": {"value": f"/{rule}/{number}"}} for number in range(MATCHES)] for rule in range(RULES)]
    refs = [{"name": "edge", "sectionName": f"http-{8000 + number}"} for number in range(PARENTS)]
    yield http_route("large", rules=[{"matches": matches} for matches in paths], spec={"parentRefs": refs})


def _different_routes() -> Iterable[Object]:
    kind = policy_kind("LimitPolicy", effectiveTarget="Rule", defaultStrategy="PatchDefaults", **MANAGED)
    yield from (_gateway_class(), gateway("edge"), kind)
    yield policy("LimitPolicy", "p", [target_ref("Gateway", "edge")], limit=1)
    for number in range(DIFFERENT):
        # Names with capitals have no form in common with others.
        yield http_route(f"route-{number}", parents=["edge"], rules=[{"name": f"Rule{number}"}])


def _gateway_class() -> Object:
    return resource(f"{GATEWAY_API}/v1", "GatewayClass", "main", spec={"controllerName": "example.com/gateway"})
