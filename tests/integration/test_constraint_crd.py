"""Constraints: what an API server refuses by the CRD."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.api import ApiError
from tests.controlplane.plane import ControlPlane

CRD = Path(__file__).parents[2] / "deploy" / "crds" / "constraints.yaml"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONSTRAINTS = "/apis/policybridge.io/v1alpha1/constraints"
WHOLE = {
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
REFUSED: dict[str, dict[str, Any]] = {
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
def with_constraints(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with the CRD."""
    crd = yaml.safe_load(CRD.read_text())
    control_plane.api.apply(f"{CRDS}/{crd['metadata']['name']}", crd)
    control_plane.api.wait_for_crds({crd["metadata"]["name"]})
    return control_plane


def _constraint(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "Constraint",
        "metadata": {"name": "tested"},
        "spec": copy.deepcopy(spec),
    }


def test_an_api_server_takes_every_field_and_keeps_parameters_as_they_are(with_constraints: ControlPlane) -> None:
    taken = with_constraints.api.apply(f"{CONSTRAINTS}/tested", _constraint(WHOLE))
    assert taken["spec"] == WHOLE


def test_an_api_server_fills_in_what_a_short_one_means(with_constraints: ControlPlane) -> None:
    short = _constraint({"policy": "k8s.limits"})
    short["metadata"]["name"] = "short"
    assert with_constraints.api.apply(f"{CONSTRAINTS}/short", short)["spec"] == {
        "policy": "k8s.limits",
        "enforcementAction": "deny",
        "failurePolicy": "Ignore",
        "parameterSelectionBehavior": "MatchFirst",
        "onParameterSelectionNoMatch": "proceed",
    }


@pytest.mark.parametrize("spec", REFUSED.values(), ids=REFUSED.keys())
def test_an_api_server_refuses_what_is_invalid(with_constraints: ControlPlane, spec: dict[str, Any]) -> None:
    with pytest.raises(ApiError):
        with_constraints.api.apply(f"{CONSTRAINTS}/tested", _constraint(spec))
