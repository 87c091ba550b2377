"""Random routing of Envoy Gateway, and requests to it: hostnames that overlap, matches of all types, gRPC, and TLS."""

import random
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]

GATEWAY_API = "gateway.networking.k8s.io"
CLASS = "envoy"
HTTP_PORTS = (8000, 8001)
TLS_PORT = 8443

LISTENER_HOSTNAMES = (None, None, "*.test", "*.a.test", "a.test", "b.a.test")
ROUTE_HOSTNAMES = ("*.test", "*.a.test", "a.test", "b.a.test", "x.test", "*.b.a.test")
HOSTS = ("a.test", "b.a.test", "c.a.test", "x.test", "c.b.a.test", "other.org")
PATHS = ("/", "/p", "/p/q", "/p/", "/pq", "/shop.Cart/Add", "/shop.Cart/Drop", "/shop.Cart")
PATTERNS = ("/p.*", "/[a-z]/q", "/.*", "/shop.Cart/A.*")
CALLS = (("shop.Cart", "Add"), ("shop.Cart", "Drop"), ("shop.Bank", "Add"))


@dataclass(frozen=True)
class Sent:
    """A request: to a listener's port, with a server name in place of all else for TLS."""

    port: int
    host: str
    path: str = "/"
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    call: tuple[str, str] | None = None


def gateway_class() -> Object:
    """The GatewayClass of all random Gateways."""
    return _object("GatewayClass", CLASS, spec={"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"})


def random_cluster(seed: int) -> list[Object]:
    """The objects of a seed in their own namespace, in the order in which Envoy Gateway takes them: by their names."""
    draw = random.Random(seed)
    space = f"c{seed}"
    objects: list[Object] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}]
    for name in ("one", "two"):
        ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
        spec = {"clusterIP": "10.96.0.7", "ports": ports}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": space}, "spec": spec}
        objects.append(service)
    listeners = [
        _listener(f"l{number}", port, hostname)
        for port in draw.sample(HTTP_PORTS, draw.choice((1, 1, 2)))
        for number, hostname in enumerate(dict.fromkeys(draw.choices(LISTENER_HOSTNAMES, k=draw.choice((1, 2, 3)))))
    ]
    for number, listener in enumerate(listeners):
        listener["name"] = f"l{number}"
    if draw.random() < 0.4:
        tls = {"protocol": "TLS", "tls": {"mode": "Passthrough"}}
        listeners.append(_listener("tls", TLS_PORT, draw.choice(LISTENER_HOSTNAMES)) | tls)
    objects.append(_object("Gateway", "gate", space, spec={"gatewayClassName": CLASS, "listeners": listeners}))
    kinds = draw.choices(("HTTPRoute", "HTTPRoute", "HTTPRoute", "GRPCRoute", "TLSRoute"), k=draw.choice((2, 3, 5)))
    return objects + [_route(draw, kind, f"{'abcde'[number]}", space, listeners) for number, kind in enumerate(kinds)]


def random_requests(seed: int, objects: list[Object], count: int) -> list[Sent]:
    """Requests to the ports of the Gateway of these objects."""
    draw = random.Random(seed)
    [gateway] = [obj for obj in objects if obj["kind"] == "Gateway"]
    ports = sorted({listener["port"] for listener in gateway["spec"]["listeners"]})
    return [_request(draw, draw.choice(ports)) for _ in range(count)]


def _request(draw: random.Random, port: int) -> Sent:
    host = draw.choice(HOSTS)
    if port == TLS_PORT:
        return Sent(port, host)
    headers = {"x-a": draw.choice("12")} if draw.random() < 0.5 else {}
    if draw.random() < 0.25:
        return Sent(port, host, method="POST", headers=headers, call=draw.choice(CALLS))
    path = draw.choice(PATHS)
    query = {"q": draw.choice("12")} if draw.random() < 0.5 else {}
    return Sent(port, host, path, draw.choice(("GET", "POST")), headers, query)


def _object(kind: str, name: str, namespace: str = "", *, spec: Object) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{GATEWAY_API}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _listener(name: str, port: int, hostname: str | None) -> Object:
    listener: Object = {"name": name, "port": port, "protocol": "HTTP"}
    return listener | ({"hostname": hostname} if hostname else {})


def _route(draw: random.Random, kind: str, name: str, namespace: str, listeners: list[Object]) -> Object:
    parent: Object = {"group": GATEWAY_API, "kind": "Gateway", "name": "gate"}
    if draw.random() < 0.5:
        parent["sectionName"] = draw.choice(listeners)["name"]
    spec: Object = {"parentRefs": [parent]}
    if kind == "TLSRoute" or draw.random() < 0.7:
        spec["hostnames"] = draw.sample(ROUTE_HOSTNAMES, draw.choice((1, 1, 2)))
    number = 1 if kind == "TLSRoute" else draw.choice((1, 2, 3))
    spec["rules"] = [_rule(draw, kind, f"r{place}") for place in range(number)]
    return _object(kind, name, namespace, spec=spec)


def _rule(draw: random.Random, kind: str, name: str) -> Object:
    rule: Object = {"name": name, "backendRefs": _backends(draw)}
    if kind == "TLSRoute":
        return {"name": name, "backendRefs": [{"name": "one", "port": 80}]}
    if draw.random() < 0.9:
        match = {"HTTPRoute": _http_match, "GRPCRoute": _grpc_match}[kind]
        rule["matches"] = [match(draw) for _ in range(draw.choice((1, 1, 2)))]
    if kind == "HTTPRoute" and draw.random() < 0.15:
        rule["filters"] = [{"type": "RequestRedirect", "requestRedirect": {"hostname": "elsewhere.test"}}]
        del rule["backendRefs"]
    return rule


def _backends(draw: random.Random) -> list[Object]:
    if draw.random() < 0.1:
        return []
    names = draw.sample(("one", "two", "gone"), draw.choice((1, 1, 2)))
    return [{"name": name, "port": 80, "weight": draw.choice((0, 1, 1, 3))} for name in names]


def _http_match(draw: random.Random) -> Object:
    match: Object = {}
    if draw.random() < 0.85:
        match["path"] = draw.choice(
            [{"type": kind, "value": value} for kind in ("Exact", "PathPrefix", "PathPrefix") for value in PATHS]
            + [{"type": "RegularExpression", "value": pattern} for pattern in PATTERNS * 2]
        )
    if draw.random() < 0.3:
        match["method"] = draw.choice(("GET", "POST"))
    if draw.random() < 0.35:
        match["headers"] = [{"name": "x-a", **_value(draw)}]
    if draw.random() < 0.25:
        match["queryParams"] = [{"name": "q", **_value(draw)}]
    return match


def _grpc_match(draw: random.Random) -> Object:
    match: Object = {}
    service, method = draw.choice(CALLS)
    if draw.random() < 0.85:
        parts = {"service": service, "method": method}
        for part in draw.sample(("service", "method"), draw.choice((0, 0, 1))):
            del parts[part]
        exact = draw.random() < 0.7
        match["method"] = {"type": "Exact" if exact else "RegularExpression", **parts}
        if not exact and "method" in parts:
            match["method"]["method"] = f"{method[0]}.*"
    if draw.random() < 0.35:
        match["headers"] = [{"name": "x-a", **_value(draw)}]
    return match


def _value(draw: random.Random) -> Object:
    if draw.random() < 0.3:
        return {"type": "RegularExpression", "value": "[12]"}
    return {"type": "Exact", "value": draw.choice("12")}
