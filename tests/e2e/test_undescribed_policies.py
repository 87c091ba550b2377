"""Policies that no policy kind describes: each command reports them."""

import json
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import Run
from tests.integration.objects import crd

TYPO = """
apiVersion: example.com/v1
kind: ColorPolcy
metadata: {name: typo, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}]
"""
WHY = "it has no PolicyKind, so its policies are ignored: did you mean example.com/ColorPolicy?"
SHOP = Path("examples/shop")


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
    assert "ColorPolcy\xa0shop/typo" in bridge("tree", *sources).stdout.replace(" ", "\xa0")


def test_analyze_counts_it_as_a_problem(bridge: Run, typo: Path) -> None:
    answer = bridge("analyze", "-f", typo, "--manifests", SHOP, "-o", "json")
    assert answer.returncode == 1
    assert [one["reason"] for one in json.loads(answer.stdout)["problems"]["introduced"]] == ["NotDescribed"]


def test_get_policykinds_lists_it(bridge: Run, typo: Path) -> None:
    listed = json.loads(bridge("get", "policykinds", "--manifests", SHOP, "--manifests", typo, "-o", "json").stdout)
    assert {one["policyKind"]: one["accepted"] for one in listed}["example.com/ColorPolcy"] == "not described"


def test_init_prints_a_policy_kind_that_comes_into_force(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "crd.yaml"
    body = crd("ratepolicies", "RatePolicy", group="acme.example")
    ref = {"type": "object", "properties": {name: {"type": "string"} for name in ("group", "kind", "name")}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"targetRef": ref}}}}
    for version in body["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": schema}
    file.write_text(yaml.safe_dump(body))
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
