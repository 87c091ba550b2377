"""Answers that are not certain: every command marks them, and none warns because of them."""

import json
from pathlib import Path

from tests.e2e.conftest import Run

ORDERED = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kgateway}
spec: {controllerName: kgateway.dev/kgateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: door, namespace: tea, annotations: {kgateway.dev/inherited-policy-priority: ShallowMergePreferParent}}
spec: {gatewayClassName: kgateway, listeners: [{name: web, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pot, namespace: tea}
spec: {parentRefs: [{name: door}], rules: [{name: all}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: above, namespace: tea}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: door}]
  timeouts: {request: 1s}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: below, namespace: tea}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: pot}]
  timeouts: {request: 9s}
"""
WHY = "Gateway tea/door: its priority may change the order of policies, or merge their fields"


def test_an_incomplete_outcome_is_marked_and_no_warning_comes_from_it(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "ordered.yaml").write_text(ORDERED)

    def ask(*words: str) -> str:
        answer = bridge(*words, "--manifests", tmp_path)
        assert (answer.returncode, answer.stderr) == (0, ""), answer
        return answer.stdout

    assert f"Overridden (incomplete)   Overridden on 1 scope by tea/below (Patch defaults). Incomplete: {WHY}" in ask(
        "status"
    )
    assert ask("get", "policies").count("(incomplete)") == 2
    assert "TrafficPolicy tea/above (incomplete)" in ask("tree").replace("\u00a0", " ")
    assert "(overridden)" not in ask("graph", "-o", "mermaid")
    found = json.loads(ask("problems", "-o", "json"))
    assert {one["subject"].rpartition("/")[2]: (one["reason"], one["enforcementAction"]) for one in found} == {
        "above": ("Incomplete", "warn"),
        "below": ("Incomplete", "warn"),
    }
    described = json.loads(ask("describe", "trafficpolicy/above", "-o", "json"))
    assert described["status"]["incomplete"] == [WHY]


def test_an_expectation_about_an_incomplete_outcome_fails(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "ordered.yaml").write_text(ORDERED)
    (tmp_path / "suite.yaml").write_text("""
apiVersion: test.policybridge.io/v1alpha1
kind: Suite
tests:
- {name: outcome, status: {TrafficPolicy/above: {Programmed: Overridden}}}
- {name: accepted, status: {TrafficPolicy/above: {Accepted: "True"}}}
- {name: none, problems: {TrafficPolicy/above: []}}
""")
    answer = bridge("test", tmp_path, "-o", "json")
    assert answer.returncode == 1, answer.stderr
    outcome, accepted, none = json.loads(answer.stdout)
    assert any(f"the outcome is incomplete: {WHY}" in one for one in outcome["differences"])
    assert accepted["passed"]
    assert none["differences"] == ["TrafficPolicy/above: problems: expected none, found Incomplete"]
