"""Which hostnames a listener and a route have in common, and which of them other listeners take.

Gateway API 1.7, GatewaySpec.listeners: a request is for the listener of its port with the most specific hostname. Istio
makes virtual hosts of the hostnames that routes and listeners have in common, and those of a port share one list.
"""

from tests.reference.cluster_objects import GATEWAY_API, Cluster, Node, Spec, node_of, sections_of
from tests.reference.listeners import gateway_of, holders_of, unaccepted

_CONTROLLERS_WITH_VIRTUAL_HOSTS = {"istio.io/gateway-controller"}
_TRANSPORTS = {"HTTP": "plain", "HTTPS": "TLS", "TLS": "TLS"}


def has_virtual_hosts(cluster: Cluster, gateway: Node) -> bool:
    """Whether the Gateway's class is of an implementation with virtual hosts."""
    obj = cluster.get(gateway)
    name = obj["spec"]["gatewayClassName"] if obj else ""
    found = cluster.objects.get(Node(GATEWAY_API, "GatewayClass", "-", name), {"spec": {"controllerName": ""}})
    return found["spec"]["controllerName"] in _CONTROLLERS_WITH_VIRTUAL_HOSTS


def in_common(own: str, names: list[str]) -> set[str]:
    """The hostnames (empty: all) that a listener's and a route's have in common: of two that meet, the narrower one."""
    found = set()
    for name in [one.lower() for one in names] or [""]:
        if is_within(name, own):
            found.add(name)
        elif is_within(own, name):
            found.add(own)
    return found


def is_within(inner: str, outer: str) -> bool:
    """Whether every host of one hostname (empty: all) is one of another."""
    if outer in {"", inner}:
        return True
    return outer.startswith("*") and bool(inner) and inner.endswith(outer[1:]) and inner != outer[1:]


def is_isolated(cluster: Cluster, holder: Spec, listener: Spec, route: Spec) -> bool:
    """Whether other listeners take every hostname that a listener has in common with a route."""
    if listener["protocol"] not in _TRANSPORTS:
        return False
    own = listener.get("hostname", "").lower()
    gateway = node_of(holder) if holder["kind"] == "Gateway" else gateway_of(cluster, holder)
    others = {
        other.get("hostname", "").lower()
        for beside in ([holder] if gateway is None else holders_of(cluster, gateway))
        for name, other in sections_of(beside)
        if other["port"] == listener["port"]
        and _TRANSPORTS.get(other["protocol"]) == _TRANSPORTS[listener["protocol"]]
        and node_of(beside)._replace(section=name) not in unaccepted(cluster)
    }
    narrower = {name for name in others if name != own and is_within(name, own)}
    shared = gateway is not None and has_virtual_hosts(cluster, gateway) and listener["protocol"] != "HTTPS"
    common = in_common(own, route["spec"].get("hostnames") or [])
    return bool(common) and all(
        name in narrower if shared else any(is_within(name, other) for other in narrower) for name in common
    )
