"""The load of the measurements: a cluster's objects, the same in each run."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bridge.model.changes import Object

ROOT = Path(__file__).parents[2]
GATEWAY_API = "gateway.networking.k8s.io"
POLICY_KIND = "example.com/ColorPolicy"  # of examples/shop: Manage, Inherited, acts on rules
GATEWAYS = 20
LISTENERS = 4
NAMESPACES = 50
SERVICES = 2  # in each namespace
RULES = 2  # of each route

# Besides one policy on each Gateway and one on each listener (100): the share of routes that have one of their own, and
# of those whose first rule has one. At 10,000 routes this makes 1,000 policies; the stacks are alike at any size.
ROUTE_SHARE = 0.07
RULE_SHARE = 0.02

_COLORS = ("red", "green", "blue", "orange", "ivory", "teal", "navy", "plum")
_BUILTIN = "v1"
_GATEWAY_VERSION = f"{GATEWAY_API}/v1"


@dataclass(frozen=True, slots=True)
class Load:
    """Objects in an order in which they can be created. `routes` is the number of HTTPRoutes."""

    routes: int

    def bases(self) -> Iterator[Object]:
        """Return the namespaces, Gateways and Services that all other objects belong to."""
        yield _object("GatewayClass", "bench", spec={"controllerName": "example.com/bench"})
        for name in ("infra", *(f"team-{number}" for number in range(NAMESPACES))):
            labels = {"team": name, "gateway-access": "yes"}
            yield {"apiVersion": _BUILTIN, "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for number in range(GATEWAYS):
            yield _object("Gateway", f"gateway-{number}", "infra", spec=_gateway_spec(number))
        for number in range(NAMESPACES):
            for index in range(SERVICES):
                yield service(f"team-{number}", f"service-{index}")

    def http_routes(self) -> Iterator[Object]:
        """Return the routes; each has a hostname of one listener of one Gateway."""
        for number in range(self.routes):
            yield _route(number)

    def policies(self) -> Iterator[Object]:
        """Return ColorPolicies on Gateways, listeners, routes and rules, with every kind of strategy."""
        for number in range(GATEWAYS):
            yield _policy(f"gateway-{number}", "infra", number, _ref("Gateway", f"gateway-{number}"))
            for listener in range(LISTENERS):
                ref = _ref("Gateway", f"gateway-{number}", f"listener-{listener}")
                yield _policy(f"gateway-{number}-{listener}", "infra", number + listener, ref)
        for number in self.routes_with_policy():
            yield route_policy(number, number)
        for number in chosen(round(self.routes * RULE_SHARE), self.routes, seed=6):
            ref = _ref("HTTPRoute", f"route-{number}", "first")
            yield _policy(f"route-{number}-first", namespace_of(number), number, ref)

    def objects(self) -> Iterator[Object]:
        """Return all objects, as an API server returns them."""
        yield from (*custom_resources(), policy_kind(), *self.bases(), *self.http_routes(), *self.policies())

    def rules(self) -> list[str]:
        """Return the keys of all rules."""
        return [rule_key(number, name) for number in range(self.routes) for name in ("first", "[1]")]

    def routes_with_policy(self) -> list[int]:
        """Return the numbers of the routes with a policy of their own, which is part of its name and target."""
        return chosen(round(self.routes * ROUTE_SHARE), self.routes, seed=5)


def chosen(count: int, among: int, seed: int) -> list[int]:
    """Return `count` different numbers below `among`, the same in each run and independent of the Gateways' order."""
    return sorted(random.Random(seed).sample(range(among), count))


def namespace_of(route: int) -> str:
    """Return the namespace of a route by its number."""
    return f"team-{route % NAMESPACES}"


def gateway_of(route: int) -> int:
    """Return the Gateway that a route is attached to."""
    return route % GATEWAYS


def rule_key(route: int, rule: str) -> str:
    """Return the key of a route's rule."""
    return f"{GATEWAY_API}/HTTPRoute/{namespace_of(route)}/route-{route}#{rule}"


def custom_resources() -> list[Object]:
    """Return the CRDs of the policies and of PolicyKind, without those of Gateway API."""
    files = [*sorted((ROOT / "deploy/crds").glob("*.yaml")), ROOT / "examples/shop/10-colorpolicy-crd.yaml"]
    return [yaml.safe_load(file.read_text()) for file in files]


def policy_kind() -> Object:
    """Return the PolicyKind of ColorPolicy."""
    kind: Object = yaml.safe_load((ROOT / "examples/shop/11-colorpolicy-kind.yaml").read_text())
    return kind


def route_policy(route: int, color: int) -> Object:
    """Return the policy of a route; `color` (any number) varies the spec."""
    return _policy(f"route-{route}", namespace_of(route), color, _ref("HTTPRoute", f"route-{route}"))


def accent(number: int) -> str:
    """Return a distinct color for each number."""
    return f"#{number % 0xFFFFFF:06x}"


def write(file: Path, objects: Iterable[Object]) -> None:
    """Write manifests, each as JSON in a line, which is YAML."""
    with file.open("w") as opened:
        opened.writelines(f"---\n{json.dumps(obj)}\n" for obj in objects)


def _object(kind: str, name: str, namespace: str = "", **rest: Any) -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": _GATEWAY_VERSION, "kind": kind, "metadata": metadata, **rest}


def _gateway_spec(number: int) -> Object:
    listeners = [
        {
            "name": f"listener-{index}",
            "port": 8000 + index,
            "protocol": "HTTP",
            "hostname": f"*.l{index}.g{number}.example.com",
            "allowedRoutes": {
                "namespaces": {"from": "Selector", "selector": {"matchLabels": {"gateway-access": "yes"}}}
            },
        }
        for index in range(LISTENERS)
    ]
    return {"gatewayClassName": "bench", "listeners": listeners}


def service(namespace: str, name: str) -> Object:
    """Return a Service with two ports."""
    ports = [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "metrics", "port": 9090, "targetPort": 9090}]
    spec = {"clusterIP": "None", "selector": {"app": name}, "ports": ports}
    return {"apiVersion": _BUILTIN, "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _route(number: int) -> Object:
    gateway, listener = gateway_of(number), number // GATEWAYS % LISTENERS
    namespace = namespace_of(number)
    spec = {
        "parentRefs": [{"name": f"gateway-{gateway}", "namespace": "infra"}],
        "hostnames": [f"route-{number}.l{listener}.g{gateway}.example.com"],
        "rules": [
            {
                "name": "first",
                "matches": [{"path": {"type": "PathPrefix", "value": "/api"}, "method": "GET"}],
                "filters": [_header_filter("x-route", f"route-{number}")],
                "backendRefs": [{"name": f"service-{number % SERVICES}", "port": 80}],
            },
            {
                "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                "backendRefs": [
                    {"name": "service-0", "port": 80, "weight": 90},
                    {"name": "service-1", "port": 80, "weight": 10},
                ],
            },
        ],
    }
    route = _object("HTTPRoute", f"route-{number}", namespace, spec=spec)
    route["metadata"]["labels"] = {
        "app.kubernetes.io/name": f"app-{number % 200}",
        "app.kubernetes.io/part-of": namespace,
        "app.kubernetes.io/managed-by": "Helm",
        "helm.sh/chart": "app-1.12.3",
    }
    # As `kubectl apply` leaves it.
    applied = json.dumps(route, separators=(",", ":"))
    route["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    return route


def _header_filter(name: str, value: str) -> Object:
    return {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": name, "value": value}]}}


def _ref(kind: str, name: str, section: str = "") -> Object:
    ref = {"group": GATEWAY_API, "kind": kind, "name": name}
    return {**ref, "sectionName": section} if section else ref


def _policy(name: str, namespace: str, number: int, ref: Object) -> Object:
    """Return a policy: one in ten is a patch override, one an atomic override, two are atomic defaults."""
    colors = {"accent": accent(number), "text": _COLORS[number % 8]}
    body: Object = {"strategy": "patch", "colors": colors, "contrast": 3 + number % 15}
    shape = number * 7 % 10
    wrapper = "overrides" if shape in {0, 1} else "defaults"
    if shape in {1, 2, 3}:
        body["strategy"] = "atomic"
    if number % 3 == 0:
        body["theme"] = ("light", "dark", "plain")[number % 9 // 3]
    return {
        "apiVersion": "example.com/v1",
        "kind": "ColorPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"targetRefs": [ref], wrapper: body},
    }
