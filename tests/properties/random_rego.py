"""Random Rego of admins and what uses it: strategies, libraries, guardrails, extensions, policy kinds, Constraints."""

from tests.builders import GATEWAY_API, config_map, target_ref
from tests.properties.drawing import Drawing, Object
from tests.properties.random_policies import GROUP

RULES = "opa-policies"  # the namespace of ConfigMaps with Rego
KIND = "Pick"

_STRATEGY = """package bridge.strategies.choose

result := {{"spec": {{field: {chosen}(values) |
	some field, _ in object.union(input.established.spec, input.challenger.spec)
	values := [side.spec[field] | some side in [input.established, input.challenger]]
}}}}
"""
_LIBRARY = """package acme.library

most := {most}
"""
_LIMITS = """package acme.limits

import data.acme.library

violation contains {{"msg": sprintf("more than %d rules", [library.most])}} if {{
	count(input.review.object.spec.rules) > library.most{more}
}}
"""
_FROZEN = """package acme.frozen

violation contains {"msg": "changes are frozen"} if {
	data.objects.core.ConfigMap.shop.settings.data.frozen == "yes"
}
"""
_OWN = """package bridge.guardrails.own

violations contains {{"message": sprintf("a is %d", [value])}} if {{
	value := input.policies["{group}/{kind}"].spec.a
	value > {most}
}}
"""
_EXTENSION = """package bridge.extensions.hierarchy.acme

import data.bridge.lib.keys

levels := {{"example.com/Thing": {{"object": "{level}"}}}}

links contains [keys.of(input.object), keys.format("gateway.networking.k8s.io", "Gateway", "shop", "{gateway}")] if {{
	input.object.kind == "Thing"
}}
"""


def draw_rego(draw: Drawing) -> None:
    """Add Rego, a policy kind whose policies it merges, and Constraints."""
    modules = {
        "choose": _STRATEGY.format(chosen=draw.pick(("max", "min"))),
        "library": _LIBRARY.format(most=draw.pick((0, 1, 2))),
        "limits": _LIMITS.format(more=draw.pick(("", '\n\tinput.review.object.metadata.name == "one"'))),
        "own": _OWN.format(group=GROUP, kind=KIND, most=draw.pick((1, 4))),
    }
    if draw.chance(0.3):
        modules["frozen"] = _FROZEN
    if draw.chance(0.3):
        modules["extension"] = _EXTENSION.format(
            level=draw.pick(("Edge", "Site")), gateway=draw.pick(("public", "inner"))
        )
    for name, text in modules.items():
        if draw.chance(0.85):
            draw.objects.append(_submitted(draw, name, text))
    draw.objects.append(config_map("settings", {"frozen": draw.pick(("yes", "no"))}, "shop"))
    _constraints(draw)
    _kind(draw)
    holders = [obj for obj in draw.objects if obj["kind"] in {"Gateway", "HTTPRoute"}]
    for name in "uvwxyz":
        holder = draw.pick(holders)
        spec = {"targetRefs": [target_ref(holder["kind"], holder["metadata"]["name"])]}
        fields = {field: draw.pick((1, 2, 5)) for field in draw.some(("a", "b", "c"), 1, 3)}
        draw.add(f"{GROUP}/v1", KIND, name, holder["metadata"]["namespace"], spec=spec | fields)


def _submitted(draw: Drawing, name: str, text: str) -> Object:
    if draw.chance(0.3):
        metadata = {"name": name}
        return {
            "apiVersion": "policybridge.io/v1alpha1",
            "kind": "RegoPolicy",
            "metadata": metadata,
            "spec": {"modules": {f"{name}.rego": text}},
        }
    obj = config_map(name, {f"{name}.rego": text}, RULES)
    return {**obj, "metadata": {**obj["metadata"], "labels": {"openpolicyagent.org/policy": "rego"}}}


def _constraints(draw: Drawing) -> None:
    routes = {"kinds": [{"apiGroups": [GATEWAY_API], "kinds": ["HTTPRoute"]}]}
    here = draw.pick(({}, {"namespaceSelector": {"matchLabels": {"team": "red"}}}))
    anything = {"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap", "Service"]}], **here}
    services = {"kinds": [{"apiGroups": [""], "kinds": ["Service"]}]}
    bounded = {"kind": f"{GROUP}/{KIND}", "field": "/a", "maximum": draw.pick((1, 4))}
    specs: dict[str, Object] = {
        "limits": {"policy": "acme.limits", "match": routes | here},
        "frozen": {"policy": "acme.frozen", "match": anything},
        "own": {"policy": "bridge.guardrails.own", "match": routes},
        "bounded": {"policy": "bridge.guardrails.bounded_field", "match": routes, "parameters": bounded},
        "required": {
            "policy": "bridge.guardrails.required_policy",
            "match": routes,
            "parameters": {"kinds": [f"{GROUP}/{draw.pick((KIND, 'Red'))}"]},
        },
        "below": {"policy": "bridge.guardrails.bounded_field", "match": services, "parameters": bounded},
        "shared": {
            "policy": "bridge.guardrails.same_value",
            "match": services,
            "parameters": {"kind": f"{GROUP}/{draw.pick((KIND, 'Red'))}", "field": "/a"},
        },
    }
    for name in draw.some(sorted(specs), 1, 5):
        draw.add("policybridge.io/v1alpha1", "Constraint", name, spec=specs[name])


def _kind(draw: Drawing) -> None:
    field = {"type": "integer", **draw.maybe("default", draw.pick((3, 7)), 0.3)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": field, "b": field}}}}
    if draw.chance(0.8):
        draw.add(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            f"picks.{GROUP}",
            spec={
                "group": GROUP,
                "names": {"kind": KIND, "plural": "picks"},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        )
    merge = draw.pick(({"custom": "choose", "defaultStrategy": "Custom"}, {"defaultStrategy": "PatchOverrides"}, {}))
    if draw.chance(0.9):
        draw.add(
            "policybridge.io/v1alpha1",
            "PolicyKind",
            f"picks.{GROUP}",
            spec={
                "group": GROUP,
                "kind": KIND,
                "mode": "Manage",
                "controllerName": f"{GROUP}/controller",
                "effectiveTarget": draw.pick(("Rule", "Route")),
                "targets": [{"group": GATEWAY_API, "kind": kind} for kind in ("Gateway", "HTTPRoute")],
                **merge,
            },
        )
