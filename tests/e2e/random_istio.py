"""Random clusters for Istio: Gateways, waypoints and sidecars, and policies that name or select them."""

import random
from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]
GATEWAY = "gateway.networking.k8s.io/v1"
CLASSES = {
    "istio": "istio.io/gateway-controller",
    "istio-waypoint": "istio.io/mesh-controller",
    "mine": "istio.io/gateway-controller",
    "other": "example.com/controller",
}
FORMS = ("managed", "managed", "waypoint", "waypoint", "by-hand", "sidecars")
TEAMS, TIERS = ("red", "blue"), ("front", "back")


def made(api: str, kind: str, namespace: str, name: str, spec: Object, **metadata: Any) -> Object:
    """Return an object; without a namespace a cluster-scoped one."""
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **place, **metadata}, "spec": spec}


def random_cluster(seed: int) -> list[Object]:
    """Return the objects of a mesh: the root namespace, and three namespaces of random forms."""
    draw = random.Random(seed)
    found = [made("v1", "Namespace", "", "istio-system", {})]
    found += [
        made(GATEWAY, "GatewayClass", "", name, {"controllerName": controller}) for name, controller in CLASSES.items()
    ]
    for number in range(3):
        found += _namespace(draw, number, draw.choice(FORMS))
    named = [_ref("GatewayClass", draw.choice(("istio-waypoint", "istio-waypoint", "mine")))]
    found += _policies(draw, "istio-system", named, [{}, {}, {"team": "red"}, {"tier": "back"}])
    return found


def _namespace(draw: random.Random, number: int, form: str) -> Iterator[Object]:
    namespace = f"n{number}"
    in_waypoint = {"istio.io/use-waypoint": "gate"} if form == "waypoint" and draw.random() < 0.5 else {}
    yield made("v1", "Namespace", "", namespace, {}, labels=in_waypoint)
    labels = {"team": draw.choice(TEAMS), **({"tier": draw.choice(TIERS)} if draw.random() < 0.5 else {})}
    chosen = {"managed": ("istio", "istio", "mine", "other"), "waypoint": ("istio-waypoint",)}.get(form, ("istio",))
    gateway = {
        "gatewayClassName": draw.choice(chosen),
        "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
    }
    if form == "waypoint":
        gateway["listeners"] = [{"name": "mesh", "port": 15008, "protocol": "HBONE"}]
    if form == "by-hand":
        gateway["addresses"] = [{"type": "Hostname", "value": f"entry.{namespace}.svc.cluster.local"}]
        yield from _served(namespace, "entry", f"10.97.{number}.9", {"app": "entry", **labels}, proxy="router")
    if form == "by-hand":
        labels = {"team": draw.choice(TEAMS)}  # not those of its Pods
    if form != "sidecars":
        yield made(GATEWAY, "Gateway", namespace, "gate", gateway, labels=labels | {"istio.io/waypoint-for": "service"})
    services = [f"10.97.{number}.{place + 1}" for place in range(2)]
    for name, address in zip(("cart", "pages"), services, strict=True):
        own = {"app": name, **({"team": draw.choice(TEAMS)} if draw.random() < 0.6 else {})}
        uses = {"istio.io/use-waypoint": "gate"} if form == "waypoint" and not in_waypoint else {}
        yield from _served(namespace, name, address, own, labels=uses, proxy="sidecar" if form == "sidecars" else "")
    refs = [_ref("Gateway", "gate"), _ref("Gateway", "gate"), _ref("Service", "cart"), _ref("Service", "pages")]
    named = refs if form in {"waypoint", "managed", "by-hand"} else refs[2:]
    selected: list[Object] = [
        {},
        {"team": "red"},
        {"team": "blue"},
        {"app": "cart"},
        {"app": "entry"},
        {"tier": "front"},
    ]
    selected += [
        {"gateway.networking.k8s.io/gateway-name": "gate"},
        {"gateway.istio.io/managed": "istio.io-gateway-controller"},
    ]
    yield from _policies(draw, namespace, named, selected)


def _ref(kind: str, name: str) -> Object:
    return {"group": "" if kind == "Service" else "gateway.networking.k8s.io", "kind": kind, "name": name}


def _served(
    namespace: str, name: str, address: str, selector: Object, *, proxy: str, labels: Object | None = None
) -> Iterator[Object]:
    """A Service and, with a proxy, the Pod behind it."""
    ports = [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]
    spec = {"clusterIP": address, "selector": selector, "ports": ports}
    yield made("v1", "Service", namespace, name, spec, labels=labels or {})
    if proxy:
        yield made("v1", "Pod", namespace, f"{name}-1", {}, labels=selector, annotations={"proxy": proxy})


def _policies(draw: random.Random, namespace: str, refs: list[Object], selectors: list[Object]) -> Iterator[Object]:
    """Policies of three kinds, each of which names an object, or selects Pods, or the whole namespace."""
    priorities = iter(draw.sample(range(-50, 50), 8))
    for number in range(draw.choice((2, 4, 6))):
        spec = _where(draw, refs, selectors)
        spec["action"] = draw.choice(("ALLOW", "DENY", "AUDIT", "DENY"))
        if spec["action"] != "ALLOW" or draw.random() < 0.8:
            operation: Object = {"paths": [f"/{namespace}/{number}"]}
            spec["rules"] = [{"to": [{"operation": operation}]}]
        if spec["action"] == "ALLOW" and draw.random() < 0.5:
            del spec["action"]
        annotations = {}
        if draw.random() < 0.25 and spec.get("action") != "AUDIT":
            annotations = {"istio.io/dry-run": draw.choice(("true", "1", "t", "TRUE", "false", "0"))}
        name = f"rule-{number}"
        yield made("security.istio.io/v1", "AuthorizationPolicy", namespace, name, spec, annotations=annotations)
    for number in range(draw.choice((0, 1, 2))):
        spec = _where(draw, refs, selectors)
        spec["jwtRules"] = [{"issuer": f"https://{number}.{namespace}.example.com", "jwks": '{"keys":[]}'}]
        yield made("security.istio.io/v1", "RequestAuthentication", namespace, f"token-{number}", spec)
    for number in range(draw.choice((0, 1, 3))):
        spec = _where(draw, refs, selectors)
        spec["url"] = f"oci://registry.example.com/{namespace}-{number}:1"
        if draw.random() < 0.7:
            spec["phase"] = draw.choice(("AUTHN", "AUTHZ", "STATS"))
        spec["priority"] = next(priorities)
        yield made("extensions.istio.io/v1alpha1", "WasmPlugin", namespace, f"plugin-{number}", spec)


def _where(draw: random.Random, refs: list[Object], selectors: list[Object]) -> Object:
    if draw.random() < 0.5:
        return {"targetRefs": [draw.choice(refs)]}
    labels = draw.choice(selectors)
    return {"selector": {"matchLabels": labels}} if labels else {}
