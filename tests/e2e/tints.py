"""A small world with all that describes policies: Rego of authors, a PolicyKind, a CRD, Constraints."""

from typing import Any

from tests.builders import GATEWAY_API, config_map, gateway, http_route, policy, policy_kind, resource, target_ref

GROUP = "tint.example.com"
KIND = f"{GROUP}/TintPolicy"
CART = f"{GATEWAY_API}/HTTPRoute/shop/cart"
LABELS = {"openpolicyagent.org/policy": "rego"}
Object = dict[str, Any]


def rego(name: str, text: str) -> Object:
    obj = config_map(name, {f"{name}.rego": text}, "opa-policies")
    return {**obj, "metadata": {**obj["metadata"], "labels": LABELS}}


def strategy(body: str = "library.chosen(values)") -> Object:
    text = f"""package bridge.strategies.choose

import data.acme.library

result := {{"spec": {{field: {body} |
	some field, _ in object.union(input.established.spec, input.challenger.spec)
	values := [side.spec[field] | some side in [input.established, input.challenger]]
}}}}
"""
    return {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "RegoPolicy",
        "metadata": {"name": "choose"},
        "spec": {"modules": {"choose.rego": text}},
    }


def library(chosen: str = "max") -> Object:
    return rego("library", f"package acme.library\n\nchosen(values) := {chosen}(values)\n")


def guardrail(most: int = 9) -> Object:
    text = f"""package bridge.guardrails.pale

violations contains {{"message": sprintf("tint %d", [tint])}} if {{
	tint := input.policies["{KIND}"].spec.a
	tint > {most}
}}
"""
    return rego("pale", text)


def kind(**spec: Any) -> Object:
    targets = [{"group": GATEWAY_API, "kind": name} for name in ("Gateway", "HTTPRoute")]
    merged = {"custom": "choose", "defaultStrategy": "Custom"} | spec
    fields = {"targets": targets, "effectiveTarget": "Route", "mode": "Manage", "controllerName": "example.com/tint"}
    return policy_kind("TintPolicy", GROUP, **fields, **merged)


def crd(*, without: str = "", **of_c: Any) -> Object:
    fields = {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer", **of_c}}
    fields = {name: field for name, field in fields.items() if name != without}
    targets = {"targetRefs": {"type": "array"}, "targetSelectors": {"type": "array"}}
    spec = {"type": "object", "properties": {**fields, **targets}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return resource(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"tintpolicies.{GROUP}",
        spec={
            "group": GROUP,
            "names": {"kind": "TintPolicy", "plural": "tintpolicies"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    )


def constraint(name: str, rule: str, kinds: list[str], parameters: Object | None = None, **match: Any) -> Object:
    of_kinds = [{"apiGroups": ["*"], "kinds": kinds}]
    spec = {"policy": rule, "match": {"kinds": of_kinds, **match}, "parameters": parameters or {}}
    return resource("policybridge.io/v1alpha1", "Constraint", name, spec=spec)


def namespace(name: str, **labels: str) -> Object:
    return resource("v1", "Namespace", name, metadata={"labels": labels})


def route(**labels: str) -> Object:
    found = http_route("cart", "shop", parents=("edge",))
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


def tint(name: str, ref: Object | None = None, **spec: Any) -> Object:
    return policy("TintPolicy", name, [ref] if ref else [], "shop", group=GROUP, **spec)


SELECTED = [{"group": GATEWAY_API, "kind": "HTTPRoute", "matchLabels": {"team": "web"}}]
OF_GATEWAY = tint("gateway", target_ref("Gateway", "edge"), a=1, b=5)
OF_ROUTE = tint("route", target_ref("HTTPRoute", "cart"), a=3, b=2)
BY_LABEL = tint("by-label", a=7)
BY_LABEL["spec"] = {"targetSelectors": SELECTED, "a": 7}
FROZEN = rego(
    "frozen",
    """package acme.frozen

violation contains {"msg": "frozen"} if data.objects.core.ConfigMap.shop.settings.data.frozen == "yes"
""",
)
OPEN = rego("open", 'package acme.open\n\nviolation contains {"msg": "no"} if input.review.object.data.open == "yes"\n')
BASE = [
    namespace("shop"),
    namespace("opa-policies"),
    namespace("blog", tier="free"),
    resource(f"{GATEWAY_API}/v1", "GatewayClass", "main", spec={"controllerName": "example.com/gateway"}),
    gateway("edge", namespace="shop"),
    route(team="web"),
    strategy(),
    library(),
    guardrail(),
    FROZEN,
    OPEN,
    kind(),
    crd(),
    OF_GATEWAY,
    OF_ROUTE,
    BY_LABEL,
    config_map("settings", {"frozen": "no"}, "shop"),
    config_map("notes", {"open": "yes"}, "blog"),
    constraint("pale", "bridge.guardrails.pale", ["HTTPRoute"]),
    constraint("frozen", "acme.frozen", ["Gateway"]),
    constraint("open", "acme.open", ["ConfigMap"], namespaceSelector={"matchLabels": {"tier": "paid"}}),
]
