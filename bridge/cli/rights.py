"""What a user may not read in a cluster, in one line."""

from collections.abc import Iterable, Sequence

from bridge.model.changes import Trouble
from bridge.model.types import CONSTRAINT, CRD, GATEWAY, GATEWAY_API, POLICY_KIND
from bridge.queries.names import either

# Types in the words of users, in the order of the line; other types are policies.
_WORDS = {
    GATEWAY: "Gateways",
    f"{GATEWAY_API}/ListenerSet": "ListenerSets",
    CRD: "policy CRDs",  # of kinds without a preset, whose policies are ignored then
    POLICY_KIND: "policy CRDs",
    f"{GATEWAY_API}/GatewayClass": "GatewayClasses",
    f"{GATEWAY_API}/ReferenceGrant": "ReferenceGrants",
    f"{GATEWAY_API}/HTTPRoute": "HTTPRoutes",
    **{f"{GATEWAY_API}/{kind}Route": "other routes" for kind in ("GRPC", "TLS", "TCP", "UDP")},
    "core/Service": "Services",
    "core/Namespace": "Namespaces",
    "core/Pod": "Pods",
    **{f"apps/{kind}": f"{kind}s" for kind in ("Deployment", "StatefulSet", "DaemonSet")},
    CONSTRAINT: "Constraints",
    "core/ConfigMap": "Rego of admins",
    "policybridge.io/RegoPolicy": "Rego of admins",
}
_POLICIES = "policies"


WIDTH = 80  # characters that the line has at most


def incomplete_line(forbidden: Sequence[Trouble]) -> str:
    """Return what a user may not read, as a line of at most WIDTH characters: the first words, and how many others."""
    words = _words(one for one in forbidden if not one.namespaces)
    elsewhere = ["other namespaces"] if any(one.namespaces for one in forbidden) else []
    lines = [
        f"Incomplete: you can't read {either([*words[:shown], *_others(len(words) - shown), *elsewhere])}"
        for shown in range(len(words), -1, -1)
    ]
    return next(line for line in lines if len(line) <= WIDTH)


def _others(number: int) -> list[str]:
    return [f"{number} other types"] if number > 1 else ["another type"] if number else []


def _words(troubles: Iterable[Trouble]) -> list[str]:
    found = {_WORDS.get(one.subject, _POLICIES) for one in troubles}
    return [word for word in dict.fromkeys([*_WORDS.values(), _POLICIES]) if word in found]
