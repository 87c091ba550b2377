"""Random clusters for the comparison with the reference: one seed, one list of objects.

They are DAGs: several Gateways and listeners above a route, several routes above a backend, references across
namespaces with and without grants, parents and backends that do not exist.
"""

from tests.properties.drawing import Drawing, Object
from tests.properties.random_policies import draw_policies

GATEWAY_API = "gateway.networking.k8s.io"
NAMESPACES = ("infra", "shop", "blog")
GATEWAYS = ("public", "inner")
PROTOCOLS = {"web": "HTTP", "safe": "HTTPS", "raw": "TCP"}
ROUTE_KINDS = ("HTTPRoute", "HTTPRoute", "HTTPRoute", "GRPCRoute", "TCPRoute")
SERVICES = ("cart", "stock")

# What the engine refuses no more. A feature that lands is named here, and random clusters have it from then on.
FEATURES = frozenset(
    {
        *("ConflictOnOverlap", "Enforced", "MergeRules", "OldestWins"),
        *(
            "ClassName",
            "Conflicts",
            "Consumer",
            "DefaultGateways",
            "ForeignRouteKinds",
            "ListenerSet",
            "Mesh",
            "Selectors",
            "Target",
        ),
        *("Additive", "Controllers", "FieldSelectors", "ParentLevels", "WholePorts"),
    }
)


def random_cluster(seed: int, features: frozenset[str] = FEATURES) -> list[Object]:
    """The objects of a seed."""
    draw = Drawing(seed, features)
    _cluster_scoped(draw)
    _gateways(draw)
    _routes(draw)
    for name in SERVICES:
        for namespace in draw.some(NAMESPACES, 1, 3):
            _service(draw, name, namespace)
    draw.add("example.com/v1", "Thing", "bucket", "shop")
    for name, namespace in draw.some([(name, place) for name in ("first", "second") for place in NAMESPACES], 0, 5):
        _grant(draw, name, namespace)
    draw_policies(draw)
    return draw.objects


def _cluster_scoped(draw: Drawing) -> None:
    for namespace in NAMESPACES:
        if draw.chance(0.92):
            draw.add("v1", "Namespace", namespace, metadata={"labels": draw.maybe("team", draw.pick(("red", "blue")))})
    for name in ("main", "other"):
        if draw.chance(0.85):
            controller = "example.com/others" if draw.has("Controllers", 0.3) else "example.com/gateways"
            draw.add(f"{GATEWAY_API}/v1", "GatewayClass", name, spec={"controllerName": controller})


def _gateways(draw: Drawing) -> None:
    for name, namespace in draw.some([(name, place) for name in GATEWAYS for place in ("infra", "shop")], 1, 3):
        _gateway(draw, name, namespace)
    if draw.has("ListenerSet"):
        for namespace in draw.some(("infra", "shop"), 1, 2):
            _listener_set(draw, "more", namespace)


def _gateway(draw: Drawing, name: str, namespace: str) -> None:
    spec = {"gatewayClassName": draw.pick(("main", "main", "other")), "listeners": _listeners(draw)}
    if draw.has("DefaultGateways", 0.3):
        spec["defaultScope"] = draw.pick(("All", "All", "None"))
    if draw.has("ListenerSet", 0.8):
        spec["allowedListeners"] = {"namespaces": _from(draw) if draw.chance(0.8) else {"from": "None"}}
    draw.add(f"{GATEWAY_API}/v1", "Gateway", name, namespace, spec=spec)


def _listener_set(draw: Drawing, name: str, namespace: str) -> None:
    gateway = draw.pick([obj["metadata"] for obj in draw.objects if obj["kind"] == "Gateway"])
    parent = {"name": gateway["name"], "namespace": gateway["namespace"], **draw.maybe("kind", "Gateway")}
    spec = {"parentRef": parent, "listeners": _listeners(draw)}
    draw.add(f"{GATEWAY_API}/v1", "ListenerSet", name, namespace, spec=spec)


def _listeners(draw: Drawing) -> list[Object]:
    return [
        {
            "name": listener,
            "port": draw.pick((80, 443)) if listener != "raw" or draw.has("Conflicts", 0.2) else 9000,
            "protocol": "HTTP" if listener == "safe" and draw.has("WholePorts") else PROTOCOLS[listener],
            **(draw.maybe("hostname", _hostname(draw), 0.4) if listener != "raw" else {}),
            "allowedRoutes": {"namespaces": _from(draw), **draw.maybe("kinds", _kinds(draw, listener), 0.15)},
        }
        for listener in draw.some(list(PROTOCOLS), 1, 3)
    ]


def _from(draw: Drawing) -> Object:
    selectors: tuple[Object, ...] = (
        {"matchLabels": {"team": "red"}},
        {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
        {"matchExpressions": [{"key": "team", "operator": "In", "values": ["red", "green"]}]},
        {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]},
        {"matchExpressions": [{"key": "team", "operator": draw.pick(("Exists", "DoesNotExist"))}]},
    )
    simple: tuple[Object, ...] = ({"from": "All"}, {"from": "All"}, {"from": "All"}, {"from": "Same"})
    chosen: Object = draw.pick((*simple, {"from": "Selector", "selector": draw.pick(selectors)}))
    return chosen


def _kinds(draw: Drawing, listener: str) -> list[Object]:
    kinds = ["TCPRoute"] if listener == "raw" else ["HTTPRoute", "GRPCRoute"]
    if draw.has("ForeignRouteKinds"):  # kinds that the protocol does not take
        kinds = ["TCPRoute", "HTTPRoute", "GRPCRoute"]
    return [{"group": GATEWAY_API, "kind": kind} for kind in draw.some(kinds, 1, 2)]


def _hostname(draw: Drawing) -> str:
    names = ("*.example.com", "*.shop.example.com", "shop.example.com", "a.shop.example.com", "other.test")
    return str(draw.pick(names))


def _routes(draw: Drawing) -> None:
    places = {
        (draw.pick(ROUTE_KINDS), draw.pick(("one", "two")), draw.pick(("shop", "shop", "blog"))) for _ in range(5)
    }
    for kind, name, namespace in sorted(places):
        _route(draw, kind, name, namespace)
    if not draw.has("UnnamedBackends"):
        rules = [{"backendRefs": [{"group": "example.com", "kind": "Thing", "name": "bucket"}]}]
        draw.add(f"{GATEWAY_API}/v1", "HTTPRoute", "things", "shop", spec={"parentRefs": [], "rules": rules})


def _route(draw: Drawing, kind: str, name: str, namespace: str) -> None:
    parents = [_parent_ref(draw, namespace) for _ in range(draw.pick((0, 1, 1, 2, 3)))]
    if draw.has("Mesh", 0.3):
        service = {"group": "", "kind": "Service", "name": draw.pick(SERVICES)}
        elsewhere = draw.maybe("namespace", draw.pick(NAMESPACES) if draw.has("Consumer", 0.6) else namespace, 0.5)
        parents.append(service | elsewhere | draw.maybe("port", draw.pick((80, 443)), 0.3))
    rules = [
        {
            **draw.maybe("name", f"rule-{index}"),
            "backendRefs": [_backend_ref(draw) for _ in range(draw.pick((0, 1, 1, 1, 2)))],
            **(draw.maybe("filters", [_filter(draw)], 0.2) if kind in {"HTTPRoute", "GRPCRoute"} else {}),
        }
        for index in range(draw.pick((1, 1, 2, 3)))
    ]
    spec = {"parentRefs": parents, "rules": rules}
    if draw.has("DefaultGateways", 0.2):
        spec["useDefaultGateways"] = draw.pick(("All", "All", "None"))
    if kind != "TCPRoute":
        spec |= draw.maybe("hostnames", [_hostname(draw) for _ in range(draw.pick((1, 1, 2)))], 0.4)
    draw.add(f"{GATEWAY_API}/v1", kind, name, namespace, spec=spec)


def _parent_ref(draw: Drawing, namespace: str) -> Object:
    holders = [obj for obj in draw.objects if obj["kind"] in {"Gateway", "ListenerSet"}]
    missing = {"kind": "Gateway", "metadata": {"name": "missing", "namespace": namespace}}
    holder = draw.pick((*holders, *holders, missing))
    ref = {
        **draw.maybe("group", GATEWAY_API),
        **({"kind": holder["kind"]} if holder["kind"] != "Gateway" or draw.chance(0.5) else {}),
        "name": holder["metadata"]["name"],
        "namespace": holder["metadata"]["namespace"],
        **draw.maybe("sectionName", draw.pick(list(PROTOCOLS)), 0.25),
        **draw.maybe("port", draw.pick((80, 443)), 0.15),
    }
    if ref["namespace"] == namespace and draw.chance(0.5):
        del ref["namespace"]
    return ref


def _backend_ref(draw: Drawing) -> Object:
    if draw.chance(0.12):
        return {"group": "example.com", "kind": "Thing", "name": draw.pick(("bucket", "bucket", "missing"))}
    return {
        **draw.maybe("group", "", 0.3),
        **draw.maybe("kind", "Service", 0.3),
        "name": draw.pick((*SERVICES, *SERVICES, "missing")),
        "port": draw.pick((80, 443)),
        **draw.maybe("namespace", draw.pick(NAMESPACES), 0.4),
    }


def _filter(draw: Drawing) -> Object:
    type_, field = draw.pick((("RequestMirror", "requestMirror"), ("ExternalAuth", "externalAuth")))
    return {"type": type_, field: {"backendRef": _backend_ref(draw)}}


def _service(draw: Drawing, name: str, namespace: str) -> None:
    ports = [
        {"port": port, **draw.maybe("name", word, 0.7)}
        for port, word in draw.some([(80, "plain"), (443, "secret")], 1, 2)
    ]
    if draw.chance(0.2):
        ports.insert(draw.pick((0, len(ports))), {"port": 443, "name": "quic", "protocol": "UDP"})
    draw.add("v1", "Service", name, namespace, spec={"ports": ports})


def _grant(draw: Drawing, name: str, namespace: str) -> None:
    givers = [
        *((GATEWAY_API, kind) for kind in ("HTTPRoute", "GRPCRoute", "TCPRoute")),
        *(("random.example.com", kind) for kind in ("Red", "Green", "Blue")),
    ]
    receivers = [("", "Service"), (GATEWAY_API, "HTTPRoute"), (GATEWAY_API, "Gateway")]
    spec = {
        "from": [
            {"group": group, "kind": kind, "namespace": draw.pick(NAMESPACES)}
            for group, kind in draw.some(givers, 2, 6)
        ],
        "to": [
            {"group": group, "kind": kind, **draw.maybe("name", draw.pick(("cart", "public", "one")), 0.2)}
            for group, kind in draw.some(receivers, 1, 3)
        ],
    }
    draw.add(f"{GATEWAY_API}/v1", "ReferenceGrant", name, namespace, spec=spec)
