"""The hierarchy: what is directly above a node, the effective targets of a level, the paths to them (P1 to P3)."""

from tests.reference.cluster_objects import GATEWAY_API, ROUTES, Cluster, Node, Spec, group_of, node_of, sections_of
from tests.reference.gateway_api import is_granted, takes_route
from tests.reference.hostnames import is_isolated
from tests.reference.kinds import PolicyKind
from tests.reference.listeners import gateway_of, unaccepted
from tests.reference.mesh import frontends_of, ports_for

Path = tuple[Node, ...]

HOLDERS_OF_LISTENERS = {(GATEWAY_API, "Gateway"), (GATEWAY_API, "ListenerSet")}
HELD = {"Gateway", "ListenerSet", "Route", "Frontend", "Backend"}
NO_BACKENDS = {"Namespace", "CustomResourceDefinition", "ConfigMap"}


def level_of(node: Node) -> str:
    """At which level of the hierarchy a node stands; empty for none. A mesh frontend is a node of its own (K4)."""
    if node.role:
        return "Frontend"
    if node.group == GATEWAY_API:
        if node.kind == "GatewayClass":
            return "GatewayClass"
        if node.kind == "Gateway":
            return "Listener" if node.section else "Gateway"
        if node.kind == "ListenerSet":
            return "Listener" if node.section else "ListenerSet"
        if node.kind in ROUTES:
            return "Rule" if node.section else "Route"
        return ""
    if node.group == "policybridge.io" or node.kind in NO_BACKENDS:
        return ""
    return "Port" if node.section else "Backend"


def parents_of(cluster: Cluster, node: Node) -> list[Node]:
    """What exists directly above a node, by links that count; Namespaces aside."""
    obj = cluster.get(node)
    if obj is None:
        return []
    if node.section:
        return [node.whole]
    level = level_of(node)
    if level == "ListenerSet":
        gateway = gateway_of(cluster, obj)
        return [gateway] if gateway else []
    if level == "Gateway":
        parent = Node(GATEWAY_API, "GatewayClass", "-", obj["spec"]["gatewayClassName"])
        return [parent] if parent in cluster.objects else []
    if level == "Route":
        return [*_listeners_above(cluster, obj), *sorted(frontends_of(cluster, obj))]
    if level == "Backend":
        return _rules_above(cluster, node)
    return []


def _listeners_above(cluster: Cluster, route: Spec) -> list[Node]:
    found = set()
    for ref in [*(route["spec"].get("parentRefs") or []), *_default_refs(cluster, route)]:
        parent = _parent(route, ref)
        holder = cluster.get(parent)
        if (parent.group, parent.kind) not in HOLDERS_OF_LISTENERS or holder is None:
            continue
        for name, listener in sections_of(holder):
            named = ref.get("sectionName", name) == name and ref.get("port", listener["port"]) == listener["port"]
            node = parent._replace(section=name)
            if not named or node in unaccepted(cluster) or not takes_route(cluster, holder, listener, route):
                continue
            if not is_isolated(cluster, holder, listener, route):
                found.add(node)
    return sorted(found)


def _default_refs(cluster: Cluster, route: Spec) -> list[Spec]:
    """GEP-3793: as if a route named all default Gateways."""
    if route["spec"].get("useDefaultGateways") != "All":
        return []
    return [
        {"name": obj["metadata"]["name"], "namespace": obj["metadata"]["namespace"]}
        for obj in cluster.of_kind(GATEWAY_API, "Gateway")
        if obj["spec"].get("defaultScope") == "All"
    ]


def _parent(child: Spec, ref: Spec) -> Node:
    namespace = ref.get("namespace") or node_of(child).namespace
    return Node(group_of(ref.get("group", GATEWAY_API)), ref.get("kind", "Gateway"), namespace, ref["name"])


def _rules_above(cluster: Cluster, backend: Node) -> list[Node]:
    return sorted(
        node_of(route)._replace(section=name)
        for kind in ROUTES
        for route in cluster.of_kind(GATEWAY_API, kind)
        for name, rule in sections_of(route)
        if backend in backends_of(cluster, route, rule)
    )


def backends_of(cluster: Cluster, route: Spec, rule: Spec) -> set[Node]:
    """The backends of a rule that exist with a port for it, and that a grant or a mesh allows in another namespace."""
    found = set()
    in_mesh = _is_of_mesh_only(cluster, route)
    for ref in refs_of(rule):
        backend = _names(route, ref)
        if backend not in cluster.objects or not _has_port(cluster.objects[backend], ref, route["kind"]):
            continue
        if in_mesh or backend.namespace == node_of(route).namespace or is_granted(cluster, node_of(route), backend):
            found.add(backend)
    return found


def _is_of_mesh_only(cluster: Cluster, route: Spec) -> bool:
    """Whether a route has only Services as its parents (GEP-1294: it needs no grant for its backends)."""
    parents = [
        _parent(route, ref) for ref in [*(route["spec"].get("parentRefs") or []), *_default_refs(cluster, route)]
    ]
    return bool(parents) and all((parent.group, parent.kind) == ("core", "Service") for parent in parents)


def refs_of(rule: Spec) -> list[Spec]:
    """Everything in a rule that names a backend (Gateway API, HTTPRouteRule, HTTPRouteFilter)."""
    own = rule.get("backendRefs") or []
    filters = [one for holder in (rule, *own) for one in holder.get("filters") or []]
    mirrors = [one["requestMirror"]["backendRef"] for one in filters if one["type"] == "RequestMirror"]
    return own + mirrors + [one["externalAuth"]["backendRef"] for one in filters if one["type"] == "ExternalAuth"]


def _has_port(backend: Spec, ref: Spec, route_kind: str) -> bool:
    if backend["kind"] != "Service":
        return True
    if "port" not in ref:
        return False
    return any(port["port"] == ref["port"] and _takes(port, route_kind) for port in backend["spec"]["ports"])


def _takes(port: Spec, route_kind: str) -> bool:
    """A port is for one protocol, TCP where it does not say (Kubernetes, ServicePort)."""
    return bool((port.get("protocol", "TCP") == "UDP") == (route_kind == "UDPRoute"))


def _names(route: Spec, ref: Spec) -> Node:
    namespace = ref.get("namespace") or node_of(route).namespace
    return Node(group_of(ref.get("group") or ""), ref.get("kind", "Service"), namespace, ref["name"])


def paths_to(cluster: Cluster, node: Node, kind: PolicyKind, source: str = "") -> set[Path]:
    """Every path from a root to this node, with the Namespaces where policies of this kind may target them.

    `source` is the namespace that requests come from, where that is known (P6).
    """
    if kind.is_direct:
        sources = ["", *cluster.namespaces()] if "controllers" in kind.spec else []
        to_target = {path for one in sources for path in _walk(cluster, node, one)}
        if to_target and not any(is_counted(cluster, kind, path) for path in to_target):
            return set()
        # C2: the declared target with one path, itself. The rule does not define a section's path; the section
        # is below its object (design, Hierarchy), and a ref to the object counts there.
        return {(node.whole, node)} if node.section else {(node,)}
    return {
        _with_namespaces(cluster, path) if kind.may_target("core", "Namespace") else path
        for path in _walk(cluster, node, source)
        if is_counted(cluster, kind, path)
    }


def is_counted(cluster: Cluster, kind: PolicyKind, path: Path) -> bool:
    """P8: whether no class of another controller is on a path, of a kind that names its controllers."""
    controllers = kind.spec.get("controllers")
    return not controllers or all(
        cluster.objects[node]["spec"]["controllerName"] in controllers
        for node in path
        if level_of(node) == "GatewayClass"
    )


def is_of_class(cluster: Cluster, kind: PolicyKind, path: Path, class_name: str) -> bool:
    """T1: whether a ref with this className counts on a path: it runs through that GatewayClass.

    A Gateway is below the class that it names, also where that does not exist (P2 leaves it out of the path alone). A
    Direct kind's path is its target alone: there any path to the target counts (decision 25).
    """
    if not class_name:
        return True
    paths = _walk(cluster, path[-1]) if kind.is_direct else {path}
    return any(
        (level_of(node) == "GatewayClass" and node.name == class_name)
        or (level_of(node) == "Gateway" and cluster.objects[node]["spec"]["gatewayClassName"] == class_name)
        for path in paths
        for node in path
    )


def _walk(cluster: Cluster, node: Node, source: str = "") -> set[Path]:
    if level_of(node) == "Port":
        return _walk_to_port(cluster, node, source)
    parents = parents_of(cluster, node)
    there = [parent for parent in parents if not parent.role or _route_is_for(cluster, parent, node, source)]
    found = {(*path, node) for parent in there for path in _walk(cluster, parent, source)}
    return found if parents else {(node,)}


def _route_is_for(cluster: Cluster, frontend: Node, route: Node, source: str) -> bool:
    """P6: a consumer route is for its own namespace's requests; for these it takes its ports from the producer's."""
    return bool(ports_for(cluster, frontend, cluster.objects[route], source))


def _walk_to_port(cluster: Cluster, port: Node, source: str) -> set[Path]:
    """A rule's traffic goes to the port that its backendRef names: only through such a rule a path leads to the port.

    The rules do not say this (P1, P2); it is what Gateway API allows. A port that no rule names starts at its Service.
    One that only consumers' rules name has no path for other namespaces' requests (P6).
    """
    bodies = [body for name, body in sections_of(cluster.objects[port.whole]) if name == port.section]

    def names(rule: Node) -> bool:
        numbers = _ports_named(cluster, rule, port.whole)
        return any(body["port"] in numbers and _takes(body, rule.kind) for body in bodies)

    if not any(names(rule) for rule in parents_of(cluster, port.whole)):
        return {(port.whole, port)}
    return {(*above, port) for above in _walk(cluster, port.whole, source) if len(above) > 1 and names(above[-2])}


def _ports_named(cluster: Cluster, rule: Node, backend: Node) -> set[int]:
    route = cluster.objects[rule.whole]
    return {
        ref["port"]
        for name, body in sections_of(route)
        if name == rule.section
        for ref in refs_of(body)
        if _names(route, ref) == backend and "port" in ref
    }


def _with_namespaces(cluster: Cluster, path: Path) -> Path:
    """P3: a Namespace stands directly above Gateway, route, frontend and backend, if it exists (P2).

    Above a ListenerSet only where its Gateway's Namespace is not the same one.
    """
    result: list[Node] = []
    for node in path:
        after_its_gateway = bool(result) and level_of(node) == "ListenerSet" and result[-1].namespace == node.namespace
        if level_of(node) in HELD and node.namespace != "-" and not after_its_gateway:
            namespace = Node("core", "Namespace", "-", node.namespace)
            if namespace in cluster.objects:
                result.append(namespace)
        result.append(node)
    return tuple(result)


def effective_targets(cluster: Cluster, kind: PolicyKind) -> list[Node]:
    """Everything that policies of this kind could act at."""
    every = [node for obj in cluster.objects for node in (obj, *cluster.sections(obj))]
    nodes = [node for node in every if node not in unaccepted(cluster)]
    if kind.is_direct:
        # C2: the declared targets, and their sections "where a target has sections". Read as the field `sections` of
        # the PolicyKind's target: for a kind that knows of no sections the object is one whole.
        return sorted(
            kind.in_its_role(node)
            for node in nodes
            if kind.may_target(node.group, node.kind)
            and (not node.section or kind.may_target_sections(node.group, node.kind))
        )
    if kind.effective_target == "Target":  # decision 28: what policies name, with what is above it merged into that
        return sorted(map(kind.in_its_role, nodes))
    policies = {(other.group, other.kind) for other in kind.all_kinds}
    return sorted(
        node
        for node in nodes
        if level_of(node) == kind.effective_target
        and (node.group, node.kind) not in policies
        and kind.counts_at_its_level(node, level_of)
        and _is_backend(cluster, kind, node)
    )


def _is_backend(cluster: Cluster, kind: PolicyKind, node: Node) -> bool:
    """Services are backends by their kind (design, Hierarchy), others where a rule or the PolicyKind names them.

    Else a policy on a Namespace would reach every object in it.
    """
    if level_of(node) != "Backend" or (node.group, node.kind) == ("core", "Service"):
        return True
    named = any(
        _names(route, ref) == node
        for route_kind in ROUTES
        for route in cluster.of_kind(GATEWAY_API, route_kind)
        for _, rule in sections_of(route)
        for ref in refs_of(rule)
    )
    return named or ("targets" in kind.spec and kind.may_target(node.group, node.kind))
