"""Policies that no policy kind describes: each command reports them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import Run
from tests.integration.api_objects import crd

TYPO = """
apiVersion: example.com/v1
kind: ColorPolcy
metadata: {name: typo, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}]
"""
WHY = "it has no PolicyKind, so its policies are ignored: did you mean example.com/ColorPolicy?"
SHOP = Path("examples/shop")


def _gateway_policy_crd() -> dict[str, Any]:
    """A CRD whose objects have a targetRef."""
    body: dict[str, Any] = crd("ratepolicies", "RatePolicy", group="acme.example")
    ref = {"type": "object", "properties": {name: {"type": "string"} for name in ("group", "kind", "name")}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"targetRef": ref}}}}
    for version in body["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": schema}
    return body


@pytest.fixture
def typo(tmp_path: Path) -> Path:
    file = tmp_path / "typo.yaml"
    file.write_text(TYPO)
    return file


@pytest.mark.parametrize("command", [["effective"], ["tree"], ["status"], ["explain", "httproute/shop/cart"]])
def test_read_commands_warn_of_a_typo(bridge: Run, typo: Path, command: list[str]) -> None:
    answer = bridge(*command, "--manifests", SHOP, "--manifests", typo)
    assert f"warning: example.com/ColorPolcy: {WHY}" in answer.stderr
    assert answer.returncode == 0


def test_explain_and_tree_show_it_where_it_is_attached(bridge: Run, typo: Path) -> None:
    sources = ("--manifests", SHOP, "--manifests", typo)
    explained = json.loads(bridge("explain", "httproute/shop/cart", *sources, "-o", "json").stdout)
    (entry,) = [one for one in explained if one["policyKind"] == "example.com/ColorPolcy"]
    assert [one["reason"] for one in entry["attachments"]] == ["NotDescribed"]
    assert "ColorPolcy/shop/typo" in bridge("tree", *sources).stdout


def test_analyze_counts_it_as_a_problem(bridge: Run, typo: Path) -> None:
    answer = bridge("analyze", "-f", typo, "--manifests", SHOP, "-o", "json")
    assert answer.returncode == 1
    assert [one["reason"] for one in json.loads(answer.stdout)["problems"]["introduced"]] == ["NotDescribed"]


def test_get_policykinds_lists_it(bridge: Run, typo: Path) -> None:
    listed = json.loads(bridge("get", "policykinds", "--manifests", SHOP, "--manifests", typo, "-o", "json").stdout)
    assert {one["policyKind"]: one["accepted"] for one in listed}["example.com/ColorPolcy"] == "not described"


def test_kind_is_known_by_its_policy_kind_in_the_same_folder(bridge: Run, tmp_path: Path) -> None:
    spec = {"group": "gateway.networking.k8s.io", "kind": "ShadePolicy", "class": "Direct", "mode": "Observe"}
    described = {"apiVersion": "policybridge.io/v1alpha1", "kind": "PolicyKind", "metadata": {"name": "shades"}}
    policy = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "ShadePolicy", "metadata": {"name": "a"}}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))

    def reasons() -> list[str]:
        found = json.loads(bridge("problems", "--manifests", tmp_path, "-o", "json").stdout)
        return [one["reason"] for one in found]

    assert "UnknownKind" in reasons()
    (tmp_path / "kind.yaml").write_text(yaml.safe_dump({**described, "spec": spec}))
    assert "UnknownKind" not in reasons()


def test_warning_does_not_name_the_command_that_runs(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(_gateway_policy_crd()))
    (tmp_path / "policy.yaml").write_text(
        "apiVersion: acme.example/v1\nkind: RatePolicy\nmetadata: {name: a, namespace: b}\n"
        "spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: c}}\n"
    )
    assert "`pbctl init policykind`" in bridge("get", "policies", "--manifests", tmp_path).stderr
    assert bridge("init", "policykind", "--from-crd", tmp_path).stderr == ""


def test_init_prints_a_policy_kind_that_comes_into_force(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump(_gateway_policy_crd()))
    printed = bridge("init", "policykind", "--from-crd", file).stdout
    (tmp_path / "kind.yaml").write_text(printed)
    answer = bridge("get", "policykinds", "--manifests", tmp_path, "-o", "json")
    listed = {one["policyKind"]: one for one in json.loads(answer.stdout)}
    assert listed["acme.example/RatePolicy"]["accepted"] == "True"
    assert answer.stderr == ""
    spec = yaml.safe_load(printed)["spec"]
    assert all(f"  # {field}: " in printed for field in spec.keys() - {"group", "kind", "mode"})
    assert "targets" not in spec  # neither the schema nor its rules list kinds
    followed = printed.replace("  class: Direct", "  class: Inherited\n  effectiveTarget: Rule")
    followed = followed.replace("  mode: Observe", "  mode: Manage\n  controllerName: acme.example/rates")
    (tmp_path / "kind.yaml").write_text(followed)
    answer = bridge("get", "policykinds", "--manifests", tmp_path, "-o", "json")
    listed = {one["policyKind"]: one for one in json.loads(answer.stdout)}
    assert listed["acme.example/RatePolicy"]["accepted"] == "True"
    assert (listed["acme.example/RatePolicy"]["class"], answer.stderr) == ("Inherited", "")


def test_init_reads_target_kinds_from_the_validation_rules_of_a_crd(bridge: Run, tmp_path: Path) -> None:
    body = _gateway_policy_crd()
    ref = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["targetRef"]
    ref["x-kubernetes-validations"] = [
        {"rule": "self.group == 'gateway.networking.k8s.io'"},
        {"rule": "self.kind == 'HTTPRoute' || self.kind == 'Gateway'"},
    ]
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump(body))
    spec = yaml.safe_load(bridge("init", "policykind", "--from-crd", file).stdout)["spec"]
    gateway_api = "gateway.networking.k8s.io"
    assert spec["targets"] == [
        {"group": gateway_api, "kind": "Gateway", "sections": False},
        {"group": gateway_api, "kind": "HTTPRoute", "sections": False},
    ]
    assert (spec["class"], spec["effectiveTarget"]) == ("Inherited", "Rule")


def test_a_second_wrapper_that_the_rules_of_the_crd_exclude_is_invalid(bridge: Run, tmp_path: Path) -> None:
    policy = """
apiVersion: acme.example/v1
kind: RatePolicy
metadata: {name: both, namespace: shop}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}
  override: {requests: 1}
  default: {requests: 2}
"""
    (tmp_path / "policy.yaml").write_text(policy)
    reasons = {}
    for name, added in {
        "none": {},
        "rule": {"x-kubernetes-validations": [{"rule": "!(has(self.override) && has(self.default))"}]},
        "alternatives": {"oneOf": [{"required": ["override"]}, {"required": ["default"]}]},
    }.items():
        body = _gateway_policy_crd()
        body["metadata"]["labels"] = {"gateway.networking.k8s.io/policy": "Inherited"}
        spec = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"] |= {wrapper: {"type": "object"} for wrapper in ("override", "default")}
        spec |= added
        (tmp_path / "crd.yaml").write_text(yaml.safe_dump(body))
        answer = bridge("status", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
        [status] = [one for one in json.loads(answer.stdout) if one["kind"] == "RatePolicy"]
        [accepted] = [one for one in status["status"]["conditions"] if one["type"] == "Accepted"]
        reasons[name] = accepted["reason"]
    assert reasons == {"none": "Accepted", "rule": "Invalid", "alternatives": "Invalid"}
