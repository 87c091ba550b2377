"""The load of the measurements: a cluster's objects, the same in each run."""

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

import yaml

from bridge.model.changes import Object

ROOT = Path(__file__).parents[2]
GATEWAY_API = "gateway.networking.k8s.io"
POLICY_KIND = "example.com/ColorPolicy"  # of examples/shop: Manage, Inherited, acts on rules
LISTENERS = 4
NAMESPACES = 50
SERVICES = 2  # in each namespace

# Besides one policy on each Gateway and one on each listener (100): the share of routes that have one of their own, and
# of those whose first rule has one. At 10,000 routes this makes 1,000 policies; the stacks are alike at any size.
ROUTE_SHARE = 0.07
RULE_SHARE = 0.02

_COLORS = ("red", "green", "blue", "orange", "ivory", "teal", "navy", "plum")
_OBJECTS = yaml.safe_load_all(Path(__file__).with_suffix(".yaml").read_text())
_TEMPLATES = {obj["kind"]: Template(json.dumps(obj)) for obj in _OBJECTS}


@dataclass(frozen=True, slots=True)
class Load:
    """Objects in an order in which they can be created. `routes` is the number of HTTPRoutes."""

    routes: int
    gateways: int = 20

    def bases(self) -> Iterator[Object]:
        """Return the namespaces, Gateways and Services that all other objects belong to."""
        yield _made("GatewayClass")
        teams = [f"team-{number}" for number in range(NAMESPACES)]
        for namespace in ("infra", *teams):
            yield _made("Namespace", namespace=namespace)
        for gateway in range(self.gateways):
            yield _made("Gateway", gateway=gateway)
        for namespace in teams:
            for service in range(SERVICES):
                yield _made("Service", namespace=namespace, service=service)

    def http_routes(self) -> Iterator[Object]:
        """Return the routes; each has a hostname of one listener of one Gateway."""
        for number in range(self.routes):
            route = _made(
                "HTTPRoute",
                route=number,
                namespace=namespace_of(number),
                gateway=number % self.gateways,
                listener=number // self.gateways % LISTENERS,
                service=number % SERVICES,
                app=number % 200,
            )
            # As `kubectl apply` leaves it.
            applied = json.dumps(route, separators=(",", ":"))
            route["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": applied}
            yield route

    def policies(self) -> Iterator[Object]:
        """Return ColorPolicies on Gateways, listeners, routes and rules, with every kind of strategy."""
        for number in range(self.gateways):
            yield gateway_policy(number, number)
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

    def routes_with_policy(self) -> list[int]:
        """Return the numbers of the routes with a policy of their own, which is part of its name and target."""
        return chosen(round(self.routes * ROUTE_SHARE), self.routes, seed=5)


def chosen(count: int, among: int, seed: int) -> list[int]:
    """Return `count` different numbers below `among`, the same in each run and independent of the Gateways' order."""
    return sorted(random.Random(seed).sample(range(among), count))


def namespace_of(route: int) -> str:
    """Return the namespace of a route by its number."""
    return f"team-{route % NAMESPACES}"


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


def gateway_policy(gateway: int, color: int) -> Object:
    """Return the policy of a Gateway: of these colors, 3 makes an atomic override and 6 atomic defaults."""
    return _policy(f"gateway-{gateway}", "infra", color, _ref("Gateway", f"gateway-{gateway}"))


def accent(number: int) -> str:
    """Return a distinct color for each number."""
    return f"#{number % 0xFFFFFF:06x}"


def options_for(folder: Path, objects: Iterable[Object]) -> list[str]:
    """Write objects to `folder/manifests`; return the options of a bridge on that folder."""
    (folder / "manifests").mkdir()
    write(folder / "manifests" / "load.yaml", objects)
    return ["--manifests", str(folder / "manifests"), "--listen", "127.0.0.1:0"]


def write(file: Path, objects: Iterable[Object]) -> None:
    """Write manifests, each as JSON in a line, which is YAML."""
    with file.open("w") as opened:
        opened.writelines(f"---\n{json.dumps(obj)}\n" for obj in objects)


def _made(kind: str, **values: str | int) -> Object:
    obj: Object = json.loads(_TEMPLATES[kind].substitute(values))
    return obj


def _ref(kind: str, name: str, section: str = "") -> Object:
    ref = {"group": GATEWAY_API, "kind": kind, "name": name}
    return {**ref, "sectionName": section} if section else ref


def _policy(name: str, namespace: str, number: int, ref: Object) -> Object:
    """Return a policy: one in ten is a patch override, one an atomic override, two are atomic defaults."""
    colors = {"accent": accent(number), "text": _COLORS[number % 8]}
    body: Object = {"strategy": "patch", "colors": colors, "contrast": 3 + number % 15}
    shape = number * 7 % 10
    if shape in {1, 2, 3}:
        body["strategy"] = "atomic"
    if number % 3 == 0:
        body["theme"] = ("light", "dark", "plain")[number % 9 // 3]
    return {
        "apiVersion": "example.com/v1",
        "kind": "ColorPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"targetRefs": [ref], "overrides" if shape in {0, 1} else "defaults": body},
    }
