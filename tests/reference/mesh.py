"""Which routes of a mesh frontend count on which of its ports (GEP-1294, Ports, Route types; P6)."""

from tests.reference.cluster_objects import GATEWAY_API, Cluster, Node, Spec, group_of, node_of, sections_of

TYPES = ("GRPCRoute", "HTTPRoute", "TLSRoute", "TCPRoute")  # of several on one port the first counts


def frontends_of(cluster: Cluster, route: Spec) -> set[Node]:
    """The Services that a route names as its parents, of which it has a port."""
    parents = {_service(route, ref) for ref in route["spec"].get("parentRefs") or []} - {None}
    return {parent for parent in parents if parent and ports_of(cluster, parent, route)}


def ports_of(cluster: Cluster, frontend: Node, route: Spec) -> set[int]:
    """The ports of a frontend on which a route counts among the routes of its namespace."""
    place = TYPES.index(route["kind"]) if route["kind"] in TYPES else 0
    taken = {
        port
        for kind in TYPES[:place]
        for other in cluster.of_kind(GATEWAY_API, kind)
        if node_of(other).namespace == node_of(route).namespace
        for port in _bound(cluster, frontend, other)
    }
    return _bound(cluster, frontend, route) - taken


def ports_for(cluster: Cluster, frontend: Node, route: Spec, source: str) -> set[int]:
    """The same for requests from a namespace: a consumer route takes its ports from the producer's there."""
    own, namespace = ports_of(cluster, frontend, route), node_of(route).namespace
    if namespace != frontend.namespace:
        return own if namespace == source else set()
    if source == frontend.namespace:
        return own
    consumers = [
        other
        for kind in (*TYPES, "UDPRoute")
        for other in cluster.of_kind(GATEWAY_API, kind)
        if node_of(other).namespace == source
    ]
    return own - {port for other in consumers for port in _bound(cluster, frontend, other)}


def _bound(cluster: Cluster, frontend: Node, route: Spec) -> set[int]:
    service = cluster.get(frontend)
    return {
        port["port"]
        for ref in route["spec"].get("parentRefs") or []
        if service and _service(route, ref) == frontend
        for name, port in sections_of(service)
        if ref.get("sectionName", name) == name and ref.get("port", port["port"]) == port["port"]
    }


def _service(route: Spec, ref: Spec) -> Node | None:
    namespace = ref.get("namespace") or node_of(route).namespace
    if (group_of(ref.get("group", GATEWAY_API)), ref.get("kind", "Gateway")) != ("core", "Service"):
        return None
    return Node("core", "Service", namespace, ref["name"], role="frontend")
