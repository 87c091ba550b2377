"""Guardrails on the example, as a person meets them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.conftest import ROOT, Run

SHOP = ROOT / "examples" / "shop"
GUARDRAILS = ROOT / "examples" / "guardrails"
OF_FEEDS = ("theme-of-the-platform", "gateway.networking.k8s.io/HTTPRoute/blog/feeds#rss")
OWN = """apiVersion: v1
kind: Namespace
metadata: {name: opa-policies}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: own, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  own.rego: |
    package bridge.guardrails.checkout

    violations contains {"message": sprintf("contrast %d", [colors.contrast])} if {
      endswith(input.target, "#checkout")
      colors := input.policies["example.com/ColorPolicy"].spec
    }
---
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: checkout}
spec: {policy: bridge.guardrails.checkout, match: {kinds: [{apiGroups: [gateway.networking.k8s.io]}]}}
"""


def test_shipped_guardrails_judge_what_is_in_effect(bridge: Run) -> None:
    done = bridge("violations", "--manifests", SHOP, "--manifests", GUARDRAILS, "-o", "json")
    assert done.returncode == 0  # nothing with the action deny
    rows = json.loads(done.stdout)
    assert {row["constraint"] for row in rows} == {
        "enough-contrast",
        "no-dead-colors",
        "one-theme-for-a-service",
        "theme-of-the-platform",
    }
    [feeds] = [row for row in rows if (row["constraint"], row["details"]["target"]) == OF_FEEDS]
    assert feeds["message"] == (
        "rule rss via Gateway infra/public#https: /theme is set by ColorPolicy blog/feeds, which is in namespace blog"
    )
    assert (feeds["details"]["severity"], feeds["details"]["field"]) == ("high", "/theme")


def test_a_change_shows_the_violations_that_it_introduces(bridge: Run) -> None:
    options = ["--manifests", SHOP, "--manifests", GUARDRAILS, "-o", "json"]
    done = bridge("analyze", "--delete", "colorpolicy/infra/brand", *options)
    assert done.returncode == 1
    introduced = json.loads(done.stdout)["problems"]["introduced"]
    about = {one["about"].rpartition("/")[2] for one in introduced if one["reason"] == "Violation"}
    assert about == {"colors-stay", "public-routes-have-colors"}
    assert all(one["causes"] == ["example.com/ColorPolicy/infra/brand"] for one in introduced)


def test_a_guardrail_of_an_admin(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    done = bridge("violations", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
    assert done.returncode == 1, done.stderr
    assert {row["message"] for row in json.loads(done.stdout)} == {
        "rule checkout via Gateway infra/public#https: contrast 7",
        "rule checkout via Gateway infra/internal#http: contrast 10",
    }
