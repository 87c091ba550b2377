"""The CRDs on a real API server: what it takes, what it refuses and why, and what kubectl shows."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.api import ApiError
from tests.controlplane.plane import ControlPlane

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
GROUP = "/apis/policybridge.io/v1alpha1"
CLUSTER = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WHOLE = {
    "group": "acme.example",
    "kind": "RatePolicy",
    "mode": "Manage",
    "controllerName": "acme.example/rates",
    "class": "Inherited",
    "targets": [
        {"group": "gateway.networking.k8s.io", "kind": "Gateway", "sections": True},
        {"kind": "Service", "role": "Frontend"},
    ],
    "effectiveTarget": "Backend",
    "crossNamespace": "Consumer",
    "specPaths": [
        {
            "path": "/spec/overrides",
            "strategy": "PatchOverrides",
            "strategyPath": "/spec/overrides/how",
            "without": ["targetRefs"],
        }
    ],
    "strategies": {"atomic": "Atomic", "lists": {"strategy": "Patch", "merge": {"units": ["/limits/*"]}}},
    "defaultStrategy": "PatchOverrides",
    "merge": {"units": ["/limits/*"], "listKeys": {"/rules": "id"}},
    "sameLevel": "ConflictOnOverlap",
    "parentLevels": ["Gateway", "Listener"],
    "conditions": "Enforced",
    "statusShape": "Ancestors",
    "ancestorLevel": "Gateway",
    "controllers": ["acme.example/gw"],
}
ADDITIVE = {
    "group": "acme.example",
    "kind": "RatePolicy",
    "class": "Direct",
    "defaultStrategy": "Additive",
    "order": [
        {"path": "/spec/action", "values": ["DENY", "ALLOW"], "default": "ALLOW"},
        {"path": "/spec/priority", "descending": True, "default": 0},
    ],
}
CUSTOM = {
    "group": "acme.example",
    "kind": "RatePolicy",
    "effectiveTarget": "Rule",
    "custom": "acme_rates",
    "defaultStrategy": "Custom",
    "sameLevel": "OldestWins",
}
SHORT = {"group": "acme.example", "kind": "RatePolicy", "effectiveTarget": "Rule"}
DIRECT = {"group": "acme.example", "kind": "RatePolicy", "class": "Direct"}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "it says of what kind": ({"group": "acme.example"}, "spec.kind"),
    "a kind is a word": ({**SHORT, "kind": "Rate Policy"}, "spec.kind"),
    "a field that there is not": ({**SHORT, "efectiveTarget": "Rule"}, "efectiveTarget"),
    "a level that there is not": ({**SHORT, "effectiveTarget": "Rules"}, "spec.effectiveTarget"),
    "Manage without a name": ({**SHORT, "mode": "Manage"}, "mode Manage needs a controllerName"),
    "a name without a path": ({**SHORT, "mode": "Manage", "controllerName": "acme.example"}, "spec.controllerName"),
    "Custom without its package": ({**SHORT, "defaultStrategy": "Custom"}, "strategy Custom needs custom"),
    "Custom in a place without its package": (
        {**SHORT, "specPaths": [{"path": "/spec", "strategy": "Custom"}]},
        "strategy Custom needs custom",
    ),
    "a Direct kind that merges": ({**DIRECT, "parentLevels": ["Gateway"]}, "class Direct merges nothing"),
    "an additive kind that merges": (
        {**SHORT, "defaultStrategy": "Additive", "sameLevel": "Conflict"},
        "Additive merges nothing",
    ),
    "an additive kind with a choice of strategies": (
        {**DIRECT, "defaultStrategy": "Additive", "specPaths": [{"path": "/spec", "strategyPath": "/spec/strategy"}]},
        "Additive merges nothing",
    ),
    "an order of policies that merge": (
        {**SHORT, "order": [{"path": "/spec/priority"}]},
        "order needs defaultStrategy",
    ),
    "parents of levels": (
        {**SHORT, "parentLevels": ["Gateway"], "sameLevel": "OldestWins"},
        "parentLevels merges two policies",
    ),
    "a parent level that does not exist": ({**SHORT, "parentLevels": ["Rules"]}, "spec.parentLevels[0]"),
    "merge rules beside custom": ({**CUSTOM, "merge": {"units": ["/a"]}}, "custom merges by its own Rego"),
    "a place that is no pointer": ({**SHORT, "specPaths": [{"path": "spec"}]}, "spec.specPaths[0].path"),
    "a unit that is no pointer": ({**SHORT, "merge": {"units": ["limits"]}}, "spec.merge.units[0]"),
    "a list that is no pointer": ({**SHORT, "merge": {"listKeys": {"rules": "id"}}}, "keys are JSON pointers"),
    "an empty list of targets": ({**SHORT, "targets": []}, "spec.targets"),
}
REGO_POLICIES: dict[str, tuple[dict[str, Any], str]] = {
    "without a module": ({"modules": {}}, "spec.modules"),
    "a name with a blank": ({"modules": {"a b.rego": "package a"}}, "names have letters"),
    "a module and a test of one name": (
        {"modules": {"a.rego": "package a"}, "tests": {"a.rego": "package a"}},
        "a module and a test have the same name",
    ),
    "a field that there is not": ({"modules": {"a.rego": "package a"}, "test": {}}, "test"),
    "a module that is no text": ({"modules": {"a": 5}}, "must be of type string"),
}
CONSTRAINT = {
    "policy": 'acme["memory-limits"].pods',
    "match": {
        "kinds": [{"apiGroups": ["", "*"], "kinds": ["Pod", "Deployment"]}],
        "scope": "Namespaced",
        "namespaces": ["shop", "team-*", "*-prod", "*x*"],
        "excludedNamespaces": ["kube-*"],
        "labelSelector": {"matchLabels": {"app": "cart"}},
        "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["system"]}]},
        "name": "cart-*",
    },
    "enforcementAction": "warn",
    "failurePolicy": "Fail",
    "parameters": {"limit": "16Gi", "nested": {"list": [1, {"a": "b"}]}},
    "parameterSelection": [{"match": {"name": "a"}, "parameters": {"limit": 1}}, {"parameters": {}}],
    "parameterSelectionBehavior": "MatchAny",
    "onParameterSelectionNoMatch": "deny",
}
CONSTRAINTS: dict[str, dict[str, Any]] = {
    "a policy is needed": {"match": {}},
    "a policy is the name of a package": {"policy": "data k8s"},
    "an enforcementAction is one of three": {"policy": "a", "enforcementAction": "forbid"},
    "a behavior is one of two": {"policy": "a", "parameterSelectionBehavior": "All"},
    "what is done without a match is one of four": {
        "policy": "a",
        "parameterSelection": [{"parameters": {}}],
        "onParameterSelectionNoMatch": "stop",
    },
    "nothing matches where there is nothing to match": {"policy": "a", "onParameterSelectionNoMatch": "deny"},
    "parameters are an object": {"policy": "a", "parameters": [1]},
    "an entry has parameters": {"policy": "a", "parameterSelection": [{"match": {"name": "a"}}]},
    "an entry does not override the enforcementAction": {
        "policy": "a",
        "parameterSelection": [{"parameters": {}, "enforcementAction": "warn"}],
    },
    "a field that there is not": {"policy": "a", "params": {}},
    "a field that a match has not": {"policy": "a", "match": {"kind": "Pod"}},
    "a star in the middle": {"policy": "a", "match": {"namespaces": ["a*b"]}},
    "labels one level too high, as the proposal's own example has them": {
        "policy": "a",
        "match": {"namespaceSelector": {"field.cattle.io/projectId": "special-team1"}},
    },
    "a selector that selects by nothing": {"policy": "a", "match": {"labelSelector": {}}},
    "a selector by no labels": {"policy": "a", "match": {"labelSelector": {"matchLabels": {}}}},
    "a selector by no expressions": {"policy": "a", "match": {"namespaceSelector": {"matchExpressions": []}}},
    "an operator that there is not": {
        "policy": "a",
        "match": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}},
    },
    "a misspelt operator": {
        "policy": "a",
        "match": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operation": "NotIn", "values": ["b"]}]}},
    },
    "In without values": {
        "policy": "a",
        "match": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
    },
    "Exists with values": {
        "policy": "a",
        "parameterSelection": [
            {
                "match": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
                "parameters": {},
            }
        ],
    },
}


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with the CRDs."""
    names = set()
    for file in sorted(CRDS.glob("*.yaml")):
        crd = yaml.safe_load(file.read_text())
        names.add(crd["metadata"]["name"])
        control_plane.api.apply(f"{CLUSTER}/{crd['metadata']['name']}", crd)
    control_plane.api.wait_for_crds(names)
    return control_plane


def _object(kind: str, spec: dict[str, Any], name: str = "tested-crd") -> dict[str, Any]:
    return {"apiVersion": "policybridge.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _dry_run(plane: ControlPlane, plural: str, obj: dict[str, Any]) -> Any:
    return plane.api.request("POST", f"{GROUP}/{plural}?dryRun=All&fieldValidation=Strict", obj)


def test_schemas_are_structural_and_taken_without_a_warning(served: ControlPlane) -> None:
    for file in CRDS.glob("*.yaml"):
        crd = served.api.get(f"{CLUSTER}/{yaml.safe_load(file.read_text())['metadata']['name']}")
        conditions = {one["type"]: one["status"] for one in crd["status"]["conditions"]}
        assert conditions.get("NonStructuralSchema", "False") == "False"
        assert conditions["NamesAccepted"] == "True", "a short name is taken by another CRD"


@pytest.mark.parametrize("spec", [WHOLE, SHORT, DIRECT, ADDITIVE, CUSTOM, {**DIRECT, "sameLevel": "Conflict"}])
def test_a_policykind_that_makes_sense_is_taken_as_it_is(served: ControlPlane, spec: dict[str, Any]) -> None:
    assert _dry_run(served, "policykinds", _object("PolicyKind", spec))["spec"] == spec


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_policykind_that_makes_none_is_refused_with_the_field(
    served: ControlPlane, spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        _dry_run(served, "policykinds", _object("PolicyKind", spec))
    assert message in str(refused.value)


@pytest.mark.parametrize(("spec", "message"), REGO_POLICIES.values(), ids=REGO_POLICIES.keys())
def test_a_regopolicy_that_makes_no_sense_is_refused(served: ControlPlane, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as refused:
        _dry_run(served, "regopolicies", _object("RegoPolicy", spec))
    assert message in str(refused.value)


def test_a_constraint_that_makes_sense_is_taken_with_its_defaults(served: ControlPlane) -> None:
    assert _dry_run(served, "constraints", _object("Constraint", CONSTRAINT))["spec"] == CONSTRAINT
    assert _dry_run(served, "constraints", _object("Constraint", {"policy": "k8s.limits"}))["spec"] == {
        "policy": "k8s.limits",
        "enforcementAction": "deny",
        "failurePolicy": "Fail",
        "parameterSelectionBehavior": "MatchFirst",
        "onParameterSelectionNoMatch": "proceed",
    }


@pytest.mark.parametrize("spec", CONSTRAINTS.values(), ids=CONSTRAINTS.keys())
def test_a_constraint_that_makes_no_sense_is_refused(served: ControlPlane, spec: dict[str, Any]) -> None:
    with pytest.raises(ApiError):
        _dry_run(served, "constraints", _object("Constraint", spec))


@pytest.mark.parametrize(
    ("plural", "columns"),
    [
        ("policykinds", ["Name", "Group", "Kind", "Class", "Mode", "Effective target", "Accepted", "Reason", "Age"]),
        ("constraints", ["Name", "Policy", "Action", "Accepted", "Violations", "Reason", "Age"]),
        ("regopolicies", ["Name", "Accepted", "Programmed", "Reason", "Version", "Message", "Revision", "Age"]),
    ],
)
def test_kubectl_shows_useful_columns(served: ControlPlane, plural: str, columns: list[str]) -> None:
    crd = served.api.get(f"{CLUSTER}/{plural}.policybridge.io")
    shown = [one["name"] for one in crd["spec"]["versions"][0]["additionalPrinterColumns"]]
    assert ["Name", *shown] == columns
    assert crd["spec"]["names"]["shortNames"]
    assert "policy-bridge" in crd["spec"]["names"]["categories"]
