"""What Gateway API allows: which listener takes which route, and which reference across namespaces is granted."""

from typing import Any

from tests.reference.cluster_objects import GATEWAY_API, Cluster, Node, Spec, group_of, node_of

OF_PROTOCOL = {
    "HTTP": {"HTTPRoute", "GRPCRoute"},
    "HTTPS": {"HTTPRoute", "GRPCRoute"},
    "TLS": {"TLSRoute"},
    "TCP": {"TCPRoute"},
    "UDP": {"UDPRoute"},
}
WITH_HOSTNAMES = {"HTTPRoute", "GRPCRoute", "TLSRoute"}


def is_granted(cluster: Cluster, giver: Node, receiver: Node) -> bool:
    """Whether a ReferenceGrant in the receiver's namespace allows a reference from an object like `giver`."""
    for grant in cluster.of_kind(GATEWAY_API, "ReferenceGrant"):
        if node_of(grant).namespace != receiver.namespace:
            continue
        comes_from = any(
            (group_of(entry["group"]), entry["kind"], entry["namespace"]) == (giver.group, giver.kind, giver.namespace)
            for entry in grant["spec"]["from"]
        )
        goes_to = any(
            (group_of(entry["group"]), entry["kind"]) == (receiver.group, receiver.kind)
            and entry.get("name", receiver.name) == receiver.name
            for entry in grant["spec"]["to"]
        )
        if comes_from and goes_to:
            return True
    return False


def takes_route(cluster: Cluster, holder: Spec, listener: Spec, route: Spec) -> bool:
    """Whether a listener takes a route that names its Gateway or ListenerSet: kind, namespace and hostname."""
    return (
        _takes_kind(listener, route)
        and _takes_namespace(cluster, holder, listener, route)
        and _shares_a_hostname(listener, route)
    )


def _takes_kind(listener: Spec, route: Spec) -> bool:
    taken = OF_PROTOCOL.get(listener["protocol"], set())
    if listener["protocol"] == "TLS" and listener.get("tls", {}).get("mode", "Terminate") == "Terminate":
        taken = taken | {"TCPRoute"}  # what is inside may be any stream
    if route["kind"] not in taken:
        return False
    kinds = listener.get("allowedRoutes", {}).get("kinds") or []
    return not kinds or any(
        (group_of(entry.get("group", GATEWAY_API)), entry["kind"]) == (GATEWAY_API, route["kind"]) for entry in kinds
    )


def _takes_namespace(cluster: Cluster, holder: Spec, listener: Spec, route: Spec) -> bool:
    rule = listener.get("allowedRoutes", {}).get("namespaces", {})
    return admits(cluster, rule, "Same", node_of(holder).namespace, node_of(route).namespace)


def admits(cluster: Cluster, rule: Spec, unsaid: str, own: str, namespace: str) -> bool:
    """Whether `{from, selector}` of something in the namespace `own` admits an object of `namespace`."""
    source = rule.get("from", unsaid)
    if source == "Selector":
        return selects(rule.get("selector", {}), cluster.labels(namespace))
    return source == "All" or (source == "Same" and namespace == own)


def selects(selector: Spec, labels: dict[str, str]) -> bool:
    """Whether a Kubernetes label selector matches labels."""
    return all(labels.get(name) == value for name, value in selector.get("matchLabels", {}).items()) and all(
        _holds(expression, labels) for expression in selector.get("matchExpressions", [])
    )


def _holds(expression: Spec, labels: dict[str, str]) -> bool:
    name, operator = expression["key"], expression["operator"]
    values: list[Any] = expression.get("values", [])
    if operator in {"In", "NotIn"}:
        return (labels.get(name) in values) is (operator == "In")
    return (name in labels) is (operator == "Exists")


def _shares_a_hostname(listener: Spec, route: Spec) -> bool:
    names = route["spec"].get("hostnames") or []
    own = listener.get("hostname")
    if route["kind"] not in WITH_HOSTNAMES or not names or not own:
        return True
    return any(_intersect(own, name) for name in names)


def _intersect(left: str, right: str) -> bool:
    """Two hostnames, each perhaps `*.` and a suffix; `*` stands for one label or more."""
    if left == right:
        return True
    if left.startswith("*") and right.startswith("*"):
        return left.endswith(right[1:]) or right.endswith(left[1:])
    if left.startswith("*"):
        return right.endswith(left[1:])
    return right.startswith("*") and left.endswith(right[1:])
