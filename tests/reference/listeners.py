"""Which listeners of a Gateway and its ListenerSets are distinct (Gateway API 1.7, GatewaySpec.listeners; GEP-1713)."""

from typing import NamedTuple

from tests.reference.cluster_objects import GATEWAY_API, Cluster, Node, Spec, group_of, node_of, sections_of
from tests.reference.gateway_api import admits
from tests.reference.kinds import age

HOSTNAME_CONFLICT, PROTOCOL_CONFLICT, NOT_ALLOWED = "HostnameConflict", "ProtocolConflict", "NotAllowed"
_BESIDE_NO_TCP = {"HTTP", "HTTPS", "TLS", "TCP"}


class Listener(NamedTuple):
    """A listener by its node, with what decides on conflicts."""

    node: Node
    port: int
    protocol: str
    hostname: str


def gateway_of(cluster: Cluster, listener_set: Spec) -> Node | None:
    """The Gateway of a ListenerSet, if it exists and allows it (Gateway API, `allowedListeners`: by default none)."""
    parent = _named_gateway(listener_set)
    gateway = cluster.get(parent)
    if gateway is None:
        return None
    rule = gateway["spec"].get("allowedListeners", {}).get("namespaces", {})
    return parent if admits(cluster, rule, "None", parent.namespace, node_of(listener_set).namespace) else None


def _named_gateway(listener_set: Spec) -> Node:
    ref = listener_set["spec"]["parentRef"]
    group, kind = group_of(ref.get("group", GATEWAY_API)), ref.get("kind", "Gateway")
    return Node(group, kind, ref.get("namespace") or node_of(listener_set).namespace, ref["name"])


def holders_of(cluster: Cluster, gateway: Node) -> list[Spec]:
    """The Gateway and the ListenerSets that it takes, in their order of precedence."""
    sets = [obj for obj in cluster.of_kind(GATEWAY_API, "ListenerSet") if gateway_of(cluster, obj) == gateway]
    return [cluster.objects[gateway], *sorted(sets, key=age)]


def unaccepted(cluster: Cluster) -> dict[Node, str]:
    """What is not accepted and so carries nothing, each with its reason.

    Listeners that are in conflict with others; ListenerSets that their Gateways do not allow, with their listeners.
    """
    if cluster.unaccepted is None:
        groups = [holders_of(cluster, node_of(obj)) for obj in cluster.of_kind(GATEWAY_API, "Gateway")]
        others = [obj for obj in cluster.of_kind(GATEWAY_API, "ListenerSet") if gateway_of(cluster, obj) is None]
        refused = [obj for obj in others if _named_gateway(obj) in cluster.objects]
        alone = [[obj] for obj in others if obj not in refused]
        cluster.unaccepted = {
            node: reason for group in groups + alone for node, reason in _among([_listeners(obj) for obj in group])
        }
        for obj in refused:
            nodes = [node_of(obj), *(listener.node for listener in _listeners(obj))]
            cluster.unaccepted |= dict.fromkeys(nodes, NOT_ALLOWED)
    return cluster.unaccepted


def shares_port(cluster: Cluster, target: Node) -> bool:
    """Whether another HTTP listener has a port of the listeners without TLS that a ref names.

    A whole Gateway is named with its ListenerSets.
    """
    if (target.kind, target.section) == ("Gateway", ""):
        return False
    holder = cluster.objects[target.whole]
    gateway = target.whole if target.kind == "Gateway" else gateway_of(cluster, holder)
    holders = [holder] if gateway is None else holders_of(cluster, gateway)
    accepted = [one for obj in holders for one in _listeners(obj) if one.node not in unaccepted(cluster)]
    http = [one for one in accepted if one.protocol == "HTTP"]
    named = [one for one in http if target in {one.node, one.node.whole}]
    return not {one.port for one in named}.isdisjoint(one.port for one in http if one not in named)


def _listeners(holder: Spec) -> list[Listener]:
    return [
        Listener(node_of(holder)._replace(section=name), one["port"], one["protocol"], one.get("hostname", "").lower())
        for name, one in sections_of(holder)
    ]


def _among(objects: list[list[Listener]]) -> list[tuple[Node, str]]:
    """What an earlier object has, a later one cannot have; in one object none of those that conflict wins."""
    found, earlier = [], list[Listener]()
    for listeners in objects:
        left = []
        for listener in listeners:
            reasons = [reason for other in earlier if (reason := _indistinct(listener, other))]
            if reasons:
                found.append((listener.node, _first_reason(reasons)))
            else:
                left.append(listener)
        for listener in left:
            reasons = [reason for other in left if other is not listener and (reason := _indistinct(listener, other))]
            if reasons:
                found.append((listener.node, _first_reason(reasons)))
        earlier += left
    return found


def _indistinct(one: Listener, other: Listener) -> str:
    """Why a port's traffic cannot be results apart; empty where it can."""
    if one.port != other.port:
        return ""
    protocols = {one.protocol, other.protocol}
    if "TCP" in protocols and protocols <= _BESIDE_NO_TCP:
        return "TCP"
    if protocols == {"UDP"}:
        return PROTOCOL_CONFLICT
    if one.hostname != other.hostname:
        return ""
    if len(protocols) == 1:
        return HOSTNAME_CONFLICT
    return PROTOCOL_CONFLICT if protocols == {"HTTPS", "TLS"} else ""  # both are chosen by the server name


def _first_reason(reasons: list[str]) -> str:
    """One listener can have several conflicts: that with TCP is of the whole port."""
    if "TCP" in reasons:
        return PROTOCOL_CONFLICT
    return HOSTNAME_CONFLICT if HOSTNAME_CONFLICT in reasons else PROTOCOL_CONFLICT
