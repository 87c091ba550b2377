"""`bridge get` on the example."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.conftest import SHOP, Run

LABELLED = """\
apiVersion: example.com/v1
kind: TimeoutPolicy
metadata: {name: odd, namespace: shop, labels: {team: <b>}, creationTimestamp: "2020-01-01T00:00:00Z"}
spec: {targetRefs: [{group: "", kind: Service, name: cart}], request: 3s}
---
apiVersion: v1
kind: Service
metadata: {name: labelled, namespace: shop, labels: {team: web}}
spec: {ports: [{port: 80}]}
---
apiVersion: example.com/v1
kind: TimeoutPolicy
metadata: {name: labelled, namespace: shop, labels: {team: web}}
spec: {targetRefs: [{group: "", kind: Service, name: labelled}], request: 3s}
"""


def test_policies_have_class_target_outcome_and_scopes(bridge: Run) -> None:
    answer = bridge("get", "policies", "-n", "shop", "--kind", "cp", "--manifests", SHOP)
    assert (answer.returncode, answer.stderr) == (0, "")
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert rows[0] == ["NAMESPACE", "NAME", "KIND", "CLASS", "TARGET", "ACCEPTED", "PROGRAMMED", "SCOPES"]
    assert ["shop", "cart", "ColorPolicy", "Inherited", "HTTPRoute/cart", "True", "PartiallyProgrammed", "3/6"] in rows
    assert ["shop", "summer-sale", "ColorPolicy", "Inherited", "HTTPRoute/summer-sale", "False", "0/0"] in rows
    assert {row[0] for row in rows[1:]} == {"shop"}


def test_labels_select_policies_and_targets(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "labelled.yaml"
    file.write_text(LABELLED)
    manifests = ("--manifests", str(SHOP), str(file))
    policies = bridge("get", "policy", "-l", "team in (web)", "-o", "name", *manifests)
    assert policies.stdout == "example.com/TimeoutPolicy/shop/labelled\n"
    targets = bridge("get", "targets", "-l", "team=web", "-o", "name", *manifests)
    assert targets.stdout.splitlines() == ["core/Service/shop/labelled", "core/Service/shop/labelled#80"]
    none = bridge("get", "policies", "-l", "team=none", *manifests)
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "No policies found.\n")
    aged = bridge("get", "policies", "-n", "shop", *manifests).stdout
    assert "AGE" in aged.splitlines()[0]


def test_policy_kinds_say_who_describes_them(bridge: Run, tmp_path: Path) -> None:
    listed = json.loads(bridge("get", "pk", "--manifests", SHOP, "-o", "json").stdout)
    sources = {entry["policyKind"]: entry["source"] for entry in listed}
    assert sources["example.com/ColorPolicy"] == ["discovered", "PolicyKind"]
    assert sources["gateway.networking.k8s.io/BackendTLSPolicy"] == ["preset"]
    wrong = tmp_path / "kind.yaml"
    wrong.write_text(
        "apiVersion: policybridge.io/v1alpha1\nkind: PolicyKind\nmetadata: {name: a.b}\n"
        "spec: {group: b, kind: A, class: Inherited, defaultStrategy: None}\n"
    )
    told = bridge("get", "policykinds", "--manifests", wrong)
    assert told.returncode == 2
    assert any(line.split()[:1] == ["a.b"] and " False " in line for line in told.stdout.splitlines())


def test_something_else_cannot_be_listed(bridge: Run) -> None:
    answer = bridge("get", "routes", "--manifests", SHOP)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: invalid value for 'policies|policykinds|targets': 'routes' is not one of ")
