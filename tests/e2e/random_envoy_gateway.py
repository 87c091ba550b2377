"""Random clusters of Envoy Gateway: Gateways of two controllers, routes, and policies of four of its kinds."""

import random
from typing import Any

Object = dict[str, Any]

GATEWAY_API = "gateway.networking.k8s.io"
ENVOY = "gateway.envoyproxy.io"
CLASS, OTHER_CLASS = "envoy", "other"
LISTENERS = ("web", "alt")
RULES = ("a", "b")
MERGE_TYPES = (None, None, "StrategicMerge", "JSONMerge")
ROUTE_KINDS = ("BackendTrafficPolicy", "SecurityPolicy", "EnvoyExtensionPolicy")


def classes() -> list[Object]:
    """The GatewayClasses, Envoy Gateway's and another controller's."""
    controllers = {CLASS: "gateway.envoyproxy.io/gatewayclass-controller", OTHER_CLASS: "example.com/controller"}
    return [_object("GatewayClass", name, spec={"controllerName": each}) for name, each in controllers.items()]


def random_cluster(seed: int) -> list[Object]:
    """The objects of a seed, in namespaces of their own; policies have no age, so names decide between them."""
    draw = random.Random(seed)
    space = f"c{seed}"
    gateways = [
        ("first", CLASS),
        ("second", draw.choice((CLASS, CLASS, OTHER_CLASS))),
        ("third", draw.choice((CLASS, OTHER_CLASS))),
    ][: draw.randint(1, 3)]
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}]
    objects += [_gateway(draw, name, class_name, space) for name, class_name in gateways]
    objects.append(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "backend", "namespace": space},
            "spec": {"clusterIP": "10.96.0.7", "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]},
        }
    )
    routes = [f"route-{number}" for number in range(draw.randint(1, 3))]
    objects += [_route(draw, name, space, [name for name, _ in gateways]) for name in routes]
    for kind in (*ROUTE_KINDS, "ClientTrafficPolicy"):
        for number in range(draw.randint(1, 6)):
            objects.append(_policy(draw, kind, f"p{number}", space, [name for name, _ in gateways], routes))
    return objects


def _object(
    kind: str, name: str, namespace: str = "", *, spec: Object, api_version: str = f"{GATEWAY_API}/v1"
) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _gateway(draw: random.Random, name: str, class_name: str, namespace: str) -> Object:
    share_port = draw.random() < 0.3
    listeners = [
        {
            "name": listener,
            "port": 8000 if share_port else 8000 + place,
            "protocol": "HTTP",
            "hostname": f"{listener}.example.com",
            "allowedRoutes": {"namespaces": {"from": "Same"}},
        }
        for place, listener in enumerate(LISTENERS)
    ]
    return _object("Gateway", name, namespace, spec={"gatewayClassName": class_name, "listeners": listeners})


def _route(draw: random.Random, name: str, namespace: str, gateways: list[str]) -> Object:
    parents = [
        {"name": gateway, **({"sectionName": draw.choice(LISTENERS)} if draw.random() < 0.4 else {})}
        for gateway in draw.sample(gateways, draw.randint(1, len(gateways)))
    ]
    rules = [
        {
            "name": rule,
            "matches": [{"path": {"type": "PathPrefix", "value": f"/{name}/{rule}"}}],
            "backendRefs": [{"name": "backend", "port": 80}],
        }
        for rule in RULES
    ]
    return _object("HTTPRoute", name, namespace, spec={"parentRefs": parents, "rules": rules})


def _policy(
    draw: random.Random, kind: str, name: str, namespace: str, gateways: list[str], routes: list[str]
) -> Object:
    at_route = kind in ROUTE_KINDS and draw.random() < 0.65
    target: Object = {"group": GATEWAY_API}
    if at_route:
        target |= {"kind": "HTTPRoute", "name": draw.choice(routes)}
        target |= {"sectionName": draw.choice(RULES)} if draw.random() < 0.4 else {}
    else:
        target |= {"kind": "Gateway", "name": draw.choice(gateways)}
        target |= {"sectionName": draw.choice(LISTENERS)} if draw.random() < 0.4 else {}
    spec: Object = {"targetRefs": [target], **_FIELDS[kind](draw, name)}
    merge = draw.choice(MERGE_TYPES)
    if at_route and merge:
        spec["mergeType"] = merge
    return _object(kind, name, namespace, spec=spec, api_version=f"{ENVOY}/v1alpha1")


def _seconds(draw: random.Random) -> str:
    return f"{draw.randint(1, 59)}s"


def _some(draw: random.Random, **fields: Any) -> Object:
    """Some of these fields, at least one."""
    chosen = draw.sample(sorted(fields), draw.randint(1, len(fields)))
    return {name: fields[name] for name in chosen}


def _traffic(draw: random.Random, _: str) -> Object:
    http = _some(draw, connectionIdleTimeout=_seconds(draw), maxConnectionDuration=_seconds(draw))
    upgrades = [{"type": one} for one in draw.sample(["websocket", "spdy/3.1"], draw.randint(1, 2))]
    return _some(
        draw,
        timeout=_some(draw, http=http, tcp={"connectTimeout": _seconds(draw)}),
        httpUpgrade=upgrades,
    )


def _security(draw: random.Random, name: str) -> Object:
    fields = _some(
        draw,
        maxAge=_seconds(draw),
        allowMethods=draw.sample(["GET", "POST", "PUT"], draw.randint(1, 2)),
        allowHeaders=[f"x-{name}"],
    )
    return {"cors": {"allowOrigins": ["https://example.com"], **fields}}


def _extension(draw: random.Random, name: str) -> Object:
    code = f"function envoy_on_response(h) h:headers():add('x-{name}', '{draw.randint(1, 99)}') end"
    return {"lua": [{"type": "Inline", "inline": code}]}


def _client(draw: random.Random, _: str) -> Object:
    return {"timeout": {"http": _some(draw, requestReceivedTimeout=_seconds(draw), idleTimeout=_seconds(draw))}}


_FIELDS = {
    "BackendTrafficPolicy": _traffic,
    "SecurityPolicy": _security,
    "EnvoyExtensionPolicy": _extension,
    "ClientTrafficPolicy": _client,
}
