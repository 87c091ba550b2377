"""What a user may not read in a cluster, in one line."""

from collections.abc import Iterable, Sequence

from bridge.model.changes import Trouble
from bridge.model.types import CONSTRAINT, CRD, GATEWAY_API, POLICY_KIND

# Types in the words of users, in the order of the line; other types are policies.
_WORDS = {
    f"{GATEWAY_API}/Gateway": "Gateways",
    f"{GATEWAY_API}/ListenerSet": "ListenerSets",
    f"{GATEWAY_API}/GatewayClass": "GatewayClasses",
    f"{GATEWAY_API}/ReferenceGrant": "ReferenceGrants",
    f"{GATEWAY_API}/HTTPRoute": "HTTPRoutes",
    **{f"{GATEWAY_API}/{kind}Route": "other routes" for kind in ("GRPC", "TLS", "TCP", "UDP")},
    "core/Service": "Services",
    "core/Namespace": "Namespaces",
    CRD: "policy kinds without a preset",
    POLICY_KIND: "policy kinds without a preset",
    CONSTRAINT: "Constraints",
    "core/ConfigMap": "Rego of admins",
    "policybridge.io/RegoPolicy": "Rego of admins",
}
_POLICIES = "policies"


def missing_rights(forbidden: Sequence[Trouble]) -> str:
    """Return what a user may read in some namespaces only, what not at all, and where complete answers are."""
    partly = [one for one in forbidden if one.namespaces]
    words = _words(partly)
    others = [f"other {word}" if word in words else word for word in _words(set(forbidden) - set(partly))]
    namespaces = ", ".join(sorted({name for one in partly for name in one.namespaces}))
    limits = [f"{', '.join(words)} only in namespace {namespaces}"] if partly else []
    limits += [f"no {', '.join(others)}"] if others else []
    hint = "" if partly else "; choose a namespace that you may read, by -n or in the kubeconfig's context"
    return (
        f"you may read {', and '.join(limits)}: this result leaves out all others{hint}. Complete answers: "
        "the page or the OPA (--opa URL) of a bridge, or the role that `pbctl admin rbac --reader` prints"
    )


def _words(troubles: Iterable[Trouble]) -> list[str]:
    found = {_WORDS.get(one.subject, _POLICIES) for one in troubles}
    return [word for word in dict.fromkeys([*_WORDS.values(), _POLICIES]) if word in found]
