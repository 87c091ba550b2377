"""Random Gateways, ListenerSets, mesh frontends and routes, and requests to them: one seed, one of each."""

from tests.properties.drawing import Drawing, Object
from tests.reference.cluster_objects import GATEWAY_API, Node
from tests.reference.serving_rules import Request

NAMESPACES = ("infra", "shop")
HOSTNAMES = ("*.example.com", "a.example.com", "*.a.example.com", "b.a.example.com", "*.com", "A.example.com")
HOSTS = ("a.example.com", "b.a.example.com", "c.b.a.example.com", "z.example.com", "example.org")
PORTS = (80, 443)
PROTOCOLS = ("HTTP", "HTTP", "HTTP", "HTTPS", "HTTPS", "TLS", "TLS", "TCP", "UDP")
ROUTES = ("HTTPRoute", "HTTPRoute", "HTTPRoute", "GRPCRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
PATHS = ("/", "/one", "/one/two", "/shop.Cart", "/shop.Cart/Add")


def random_routing(seed: int) -> list[Object]:
    """The objects of a seed."""
    draw = Drawing(seed, frozenset())
    draw.add(f"{GATEWAY_API}/v1", "GatewayClass", "istio", spec={"controllerName": "istio.io/gateway-controller"})
    for namespace in NAMESPACES:
        draw.add("v1", "Namespace", namespace)
        ports = [{"name": name, "port": port} for name, port in draw.some((("web", 80), ("safe", 443)), 1, 2)]
        draw.add("v1", "Service", "cart", namespace, spec={"ports": ports})
    for name in draw.some(("one", "two"), 1, 2):
        _gateway(draw, name)
    for name in draw.some(("a", "b", "c", "d"), 0, 4):
        _listener_set(draw, name)
    places = {(draw.pick(ROUTES), draw.pick("pqrst"), draw.pick(NAMESPACES)) for _ in range(draw.pick((3, 6, 9)))}
    for kind, name, namespace in sorted(places):
        _route(draw, kind, name, namespace)
    return draw.objects


def random_requests(seed: int, objects: list[Object], count: int) -> list[Request]:
    """Requests to the Gateways and frontends of these objects."""
    draw = Drawing(seed, frozenset())
    gateways = [obj["metadata"]["name"] for obj in objects if obj["kind"] == "Gateway"]
    return [_request(draw, gateways) for _ in range(count)]


def _request(draw: Drawing, gateways: list[str]) -> Request:
    gateway = Node(GATEWAY_API, "Gateway", "infra", draw.pick(gateways))
    if draw.chance(0.3):
        gateway = Node("core", "Service", draw.pick(NAMESPACES), "cart", role="frontend")
    protocol = draw.pick(("", "", "", "HTTP", "HTTPS", "TLS", "TCP", "UDP"))
    call = draw.pick((("shop.Cart", "Add"), ("shop.Cart", "Drop"))) if not protocol and draw.chance(0.4) else None
    if gateway.role and protocol == "HTTPS":
        protocol = "HTTP"
    return Request(
        gateway=gateway,
        protocol=protocol,
        port=draw.pick((0, *PORTS)),
        host=draw.pick(HOSTS),
        path=draw.pick(PATHS),
        method=draw.pick(("GET", "POST")),
        headers={"x-a": "1"} if draw.chance(0.4) else {},
        call=call,
        source=draw.pick(("", *NAMESPACES)),
    )


def _gateway(draw: Drawing, name: str) -> None:
    spec: Object = {
        "gatewayClassName": draw.pick(("main", "istio")),
        "listeners": _listeners(draw, draw.pick((1, 2, 3, 4))),
    }
    spec |= draw.maybe("defaultScope", draw.pick(("All", "All", "None")), 0.3)
    spec |= draw.maybe("allowedListeners", {"namespaces": {"from": draw.pick(("Same", "All", "All"))}}, 0.9)
    draw.add(f"{GATEWAY_API}/v1", "Gateway", name, "infra", spec=spec)


def _listener_set(draw: Drawing, name: str) -> None:
    gateways = [obj["metadata"]["name"] for obj in draw.objects if obj["kind"] == "Gateway"]
    parent = {"name": draw.pick((*gateways, *gateways, *gateways, "none")), "namespace": "infra"}
    spec = {"parentRef": parent, "listeners": _listeners(draw, draw.pick((1, 2, 3)))}
    draw.add(f"{GATEWAY_API}/v1", "ListenerSet", name, draw.pick(NAMESPACES), spec=spec, metadata=_age(draw))


def _listeners(draw: Drawing, count: int) -> list[Object]:
    return [_listener(draw, f"l{index}") for index in range(count)]


def _listener(draw: Drawing, name: str) -> Object:
    protocol = draw.pick(PROTOCOLS)
    hostname = draw.maybe("hostname", draw.pick(HOSTNAMES).lower(), 0.7) if protocol not in {"TCP", "UDP"} else {}
    tls = {"tls": {"mode": draw.pick(("Passthrough", "Passthrough", "Terminate"))}} if protocol == "TLS" else {}
    allowed = {"namespaces": {"from": draw.pick(("All", "All", "All", "Same"))}}
    return {"name": name, "port": draw.pick(PORTS), "protocol": protocol, "allowedRoutes": allowed, **hostname, **tls}


def _age(draw: Drawing) -> Object:
    return {"creationTimestamp": f"2026-01-01T00:00:0{draw.pick((1, 2, 3))}Z"}


def _route(draw: Drawing, kind: str, name: str, namespace: str) -> None:
    spec: Object = {
        "parentRefs": [_parent(draw, namespace) for _ in range(draw.pick((0, 1, 1, 2, 3)))],
        "rules": [_rule(draw, kind) for _ in range(draw.pick((1, 1, 2)) if kind in {"HTTPRoute", "GRPCRoute"} else 1)],
    }
    spec |= draw.maybe("useDefaultGateways", draw.pick(("All", "All", "None")), 0.3)
    if kind in {"HTTPRoute", "GRPCRoute", "TLSRoute"}:
        spec |= draw.maybe("hostnames", [name.lower() for name in draw.some(HOSTNAMES, 1, 3)], 0.7)
    draw.add(f"{GATEWAY_API}/v1", kind, name, namespace, spec=spec, metadata=_age(draw))


def _parent(draw: Drawing, namespace: str) -> Object:
    if draw.chance(0.35):
        service = {"group": "", "kind": "Service", "name": "cart"} | draw.maybe("namespace", draw.pick(NAMESPACES))
        return (
            service
            | draw.maybe("port", draw.pick(PORTS), 0.4)
            | draw.maybe("sectionName", draw.pick(("web", "safe")), 0.15)
        )
    holders = [obj for obj in draw.objects if obj["kind"] in {"Gateway", "ListenerSet"}]
    holder = draw.pick(holders)
    return {
        "kind": holder["kind"],
        "name": holder["metadata"]["name"],
        "namespace": holder["metadata"]["namespace"],
        **draw.maybe("sectionName", draw.pick(("l0", "l1", "l2")), 0.3),
        **draw.maybe("port", draw.pick(PORTS), 0.2),
    }


def _rule(draw: Drawing, kind: str) -> Object:
    rule: Object = {"backendRefs": [{"name": "cart", "port": 80}]}
    if kind == "HTTPRoute":
        rule |= draw.maybe("matches", [_http_match(draw) for _ in range(draw.pick((1, 2)))], 0.8)
    if kind == "GRPCRoute":
        rule |= draw.maybe("matches", [_grpc_match(draw)], 0.7)
    return rule


def _http_match(draw: Drawing) -> Object:
    path = {"type": draw.pick(("Exact", "PathPrefix", "PathPrefix")), "value": draw.pick(PATHS)}
    method = draw.maybe("method", draw.pick(("GET", "POST")), 0.3)
    return {"path": path, **method, **draw.maybe("headers", [{"name": "x-a", "value": "1"}], 0.3)}


def _grpc_match(draw: Drawing) -> Object:
    method = draw.maybe("service", "shop.Cart", 0.8) | draw.maybe("method", "Add")
    return ({"method": method} if method else {}) | draw.maybe("headers", [{"name": "x-a", "value": "1"}], 0.3)
