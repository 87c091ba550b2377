"""Which listeners of a Gateway and its ListenerSets are distinct (Gateway API 1.7, GatewaySpec.listeners; GEP-1713)."""

from __future__ import annotations

from typing import NamedTuple

from tests.reference.gateway_api import admits
from tests.reference.kinds import age
from tests.reference.objects import GATEWAY_API, Cluster, Node, Spec, group_of, node_of, sections_of

HOSTNAME_CONFLICT, PROTOCOL_CONFLICT = "HostnameConflict", "ProtocolConflict"
_BESIDE_NO_TCP = {"HTTP", "HTTPS", "TLS", "TCP"}


class Listener(NamedTuple):
    """A listener by its node, with what decides on conflicts."""

    node: Node
    port: int
    protocol: str
    hostname: str


def gateway_of(cluster: Cluster, listener_set: Spec) -> Node | None:
    """The Gateway of a ListenerSet, if it exists and allows it (Gateway API, `allowedListeners`: by default none)."""
    ref, own = listener_set["spec"]["parentRef"], node_of(listener_set).namespace
    group, kind = group_of(ref.get("group", GATEWAY_API)), ref.get("kind", "Gateway")
    parent = Node(group, kind, ref.get("namespace") or own, ref["name"])
    gateway = cluster.get(parent)
    if gateway is None:
        return None
    rule = gateway["spec"].get("allowedListeners", {}).get("namespaces", {})
    return parent if admits(cluster, rule, "None", parent.namespace, own) else None


def holders_of(cluster: Cluster, gateway: Node) -> list[Spec]:
    """The Gateway and the ListenerSets that it takes, in their order of precedence."""
    sets = [obj for obj in cluster.of_kind(GATEWAY_API, "ListenerSet") if gateway_of(cluster, obj) == gateway]
    return [cluster.objects[gateway], *sorted(sets, key=age)]


def conflicts(cluster: Cluster) -> dict[Node, str]:
    """The listeners that are in conflict with others, each with its reason."""
    if cluster.conflicts is None:
        groups = [holders_of(cluster, node_of(obj)) for obj in cluster.of_kind(GATEWAY_API, "Gateway")]
        alone = [[obj] for obj in cluster.of_kind(GATEWAY_API, "ListenerSet") if gateway_of(cluster, obj) is None]
        cluster.conflicts = {
            node: reason for group in groups + alone for node, reason in _among([_listeners(obj) for obj in group])
        }
    return cluster.conflicts


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
    """Why a port's traffic cannot be told apart; empty where it can."""
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
