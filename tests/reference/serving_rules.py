"""Which rule serves a request (Gateway API 1.7: Listener, HTTPRouteRule, GRPCRouteRule, TLSRouteSpec; GEP-1294).

A Gateway of Istio has virtual hosts: its most specific hostname with a route serves the request, or nothing does.

A request has `gateway` (a Gateway's or frontend's node), `protocol` (empty where it leaves open what carries it),
`port` (0: any), `host`, `path`, `method`, `headers`, `call` (service and method of gRPC), and `source` (the namespace
that it is from).
"""

from dataclasses import dataclass, field
from typing import Any

from tests.reference.cluster_objects import GATEWAY_API, Cluster, Node, Spec, node_of, sections_of
from tests.reference.hierarchy import parents_of
from tests.reference.hostnames import has_virtual_hosts, in_common
from tests.reference.kinds import age
from tests.reference.listeners import holders_of, unaccepted
from tests.reference.mesh import ports_for

_NONE = (1, 0)  # after the precedence of all hostnames
_BY_SERVER_NAME = {"HTTPS", "TLS"}
_TYPES = {
    "HTTP": ("HTTPRoute",),
    "HTTPS": ("HTTPRoute",),
    "GRPC": ("GRPCRoute", "HTTPRoute"),
    "TLS": ("TLSRoute", "TCPRoute"),
    "TCP": ("TCPRoute",),
    "UDP": ("UDPRoute",),
}


@dataclass(frozen=True)
class Request:
    """One request; see the module."""

    gateway: Node
    protocol: str = ""
    port: int = 0
    host: str = ""
    path: str = "/"
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    call: tuple[str, str] | None = None
    source: str = ""

    @property
    def kind(self) -> str:
        """What the request is: HTTP where nothing else is written."""
        return "GRPC" if self.call else self.protocol or "HTTP"


def served(cluster: Cluster, request: Request) -> dict[str, str]:
    """The listeners that take the request ("": a frontend), each with the rule that serves it there, or nothing."""
    if request.gateway.role:
        return {"": _rule(cluster, request, request.gateway, _TYPES[request.kind], listed=False)}
    found = {}
    for listener, body in _entries(cluster, request):
        listed = request.kind not in {"TCP", "UDP"}
        found[str(listener)] = _rule(cluster, request, listener, _types(request, body), listed=listed)
    return found


def _types(request: Request, listener: Spec) -> tuple[str, ...]:
    if listener["protocol"] == "HTTPS" and request.kind == "TLS":
        return _TYPES["HTTP"]
    return _TYPES[listener["protocol"] if listener["protocol"] in {"TLS", "TCP", "UDP"} else request.kind]


def _virtual_hosts(cluster: Cluster, request: Request, listener: Node, types: tuple[str, ...]) -> list[tuple[int, int]]:
    """The precedence of each hostname that the listener has in common with a route and that covers the host."""
    hostname = _hostname_of(cluster, listener)
    return [
        precedence(name)
        for kind in types
        for route in cluster.of_kind(GATEWAY_API, kind)
        if _is_attached(cluster, request, listener, route)
        for name in in_common(hostname, route["spec"].get("hostnames") or [])
        if covers(name, request.host)
    ]


def _entries(cluster: Cluster, request: Request) -> list[tuple[Node, Spec]]:
    """Of the listeners of each port and transport the one with the most specific hostname."""
    fitting = [
        (node_of(holder)._replace(section=name), body)
        for holder in holders_of(cluster, request.gateway)
        for name, body in sections_of(holder)
        if node_of(holder)._replace(section=name) not in unaccepted(cluster)
        and request.port in {0, body["port"]}
        and (request.kind in {"TCP", "UDP"} or covers(body.get("hostname", ""), request.host))
    ]
    wanted = {
        "HTTPS": {"HTTPS", "TLS"},
        "HTTP": {"HTTP"} if request.protocol else {"HTTP", "HTTPS"},
        "GRPC": {"HTTP", "HTTPS"},
    }.get(request.kind, {request.kind})
    found: dict[tuple[int, str], tuple[Any, Node, Spec]] = {}
    for node, body in fitting:
        beside = {other["protocol"] for _, other in fitting if other["port"] == body["port"]} & _BY_SERVER_NAME & wanted
        if body["protocol"] not in wanted and not (body["protocol"] in _BY_SERVER_NAME and beside):
            continue
        transport = "TLS" if body["protocol"] in _BY_SERVER_NAME else body["protocol"]
        own = precedence(body.get("hostname", ""))
        rank = (own, own)
        shared = request.kind not in {"TCP", "UDP"} and body["protocol"] in {"HTTP", "TLS"}
        if shared and has_virtual_hosts(cluster, request.gateway):
            rank = (min(_virtual_hosts(cluster, request, node, _types(request, body)), default=_NONE), own)
        place = (body["port"], transport)
        if place not in found or rank < found[place][0]:
            found[place] = (rank, node, body)
    return [(node, body) for _, node, body in found.values()]


def covers(hostname: str, host: str) -> bool:
    """Whether a hostname (empty: any) covers a host; `*` stands for one label or more."""
    if not hostname:
        return True
    return host.endswith(hostname[1:]) and host != hostname[1:] if hostname.startswith("*") else host == hostname


def precedence(hostname: str) -> tuple[int, int]:
    """The more characters of a hostname without a wildcard, then of any, the better."""
    return (0 if hostname.startswith("*") else -len(hostname), -len(hostname))


def _rule(cluster: Cluster, request: Request, entry: Node, types: tuple[str, ...], *, listed: bool) -> str:
    virtual = listed and not entry.role and has_virtual_hosts(cluster, request.gateway)
    best = min(_virtual_hosts(cluster, request, entry, types), default=_NONE) if virtual else _NONE
    own = _hostname_of(cluster, entry) if virtual else ""
    ranked = [
        (
            *(precedence(hostname) if listed and not virtual else (0, 0)),
            types.index(route["kind"]),
            *match,
            *age(route),
            index,
            str(node_of(route)._replace(section=name)),
        )
        for kind in types
        for route in cluster.of_kind(GATEWAY_API, kind)
        if _is_attached(cluster, request, entry, route)
        for hostname in (route["spec"].get("hostnames") or [""] if listed else [""])
        if not listed or covers(hostname, request.host)
        if not virtual or min(precedence(hostname), precedence(own)) == best
        for index, (name, rule) in enumerate(sections_of(route))
        for match in _matches(request, kind, rule)
    ]
    return min(ranked)[-1] if ranked else ""


def _hostname_of(cluster: Cluster, listener: Node) -> str:
    bodies = dict(sections_of(cluster.objects[listener.whole]))
    return str(bodies[listener.section].get("hostname", "")).lower()


def _is_attached(cluster: Cluster, request: Request, entry: Node, route: Spec) -> bool:
    if entry not in parents_of(cluster, node_of(route)):
        return False
    if not entry.role:
        return True
    ports = ports_for(cluster, entry, route, request.source)
    return bool(ports) if not request.port else request.port in ports


def _matches(request: Request, kind: str, rule: Spec) -> list[tuple[Any, ...]]:
    """How well a rule's matches fit, each one that does; the lower the better."""
    if kind == "HTTPRoute":
        every = [_http(request, match) for match in rule.get("matches") or [{}]]
    elif kind == "GRPCRoute":
        every = [_grpc(request, match) for match in rule.get("matches") or [{}]]
    else:
        every = [(0, 0, 0, 0)]
    return [match for match in every if match]


def _http(request: Request, match: Spec) -> tuple[Any, ...]:
    path = "/" + "/".join(request.call) if request.call else request.path
    value, exact = match.get("path", {}).get("value", "/"), match.get("path", {}).get("type") == "Exact"
    prefix = value.rstrip("/")
    method = "POST" if request.call else request.method
    fits = path == value if exact else path == prefix or path.startswith(prefix + "/")
    if not fits or match.get("method", method) != method or not _has_headers(request, match):
        return ()
    headers = len(match.get("headers", []))
    return (0 if exact else 1, -len(prefix), 0 if "method" in match else 1, -headers)


def _grpc(request: Request, match: Spec) -> tuple[Any, ...]:
    service, method = request.call or ("", "")
    wanted = match.get("method", {})
    if wanted.get("service", service) != service or wanted.get("method", method) != method:
        return ()
    if not _has_headers(request, match):
        return ()
    return (-len(wanted.get("service", "")), -len(wanted.get("method", "")), -len(match.get("headers", [])), 0)


def _has_headers(request: Request, match: Spec) -> bool:
    return all(request.headers.get(header["name"]) == header["value"] for header in match.get("headers", []))
