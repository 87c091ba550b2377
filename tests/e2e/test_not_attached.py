"""Routes that nothing accepts: `effective`, `get targets --without` and `request` say so."""

import json
import re
from pathlib import Path

from tests.e2e.conftest import Run

LONE = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: lone, namespace: tea}
spec:
  parentRefs: [{name: gone, namespace: infra}]
  hostnames: ["*.tea.test"]
  rules: [{name: all}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: lone, namespace: tea}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: lone}]
  retry: {numRetries: 3}
"""
WHY = "Gateway/infra/gone does not exist"


def test_answers_about_a_route_without_a_gateway_say_that_it_is_not_attached(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "lone.yaml").write_text(LONE)
    effective = bridge("effective", "--manifests", tmp_path)
    assert "NOTE" in effective.stdout.splitlines()[0]
    assert re.search(f"retry.numRetries=3  .*  not attached: {WHY}\n", effective.stdout)
    listed = bridge("get", "targets", "--without", "SecurityPolicy", "--manifests", tmp_path)
    assert listed.stdout.splitlines()[1].split("  ")[-1].strip() == WHY
    (found,) = json.loads(
        bridge("get", "targets", "--without", "SecurityPolicy", "-o=json", "--manifests", tmp_path).stdout
    )
    assert found["paths"][0]["notAttached"] == [WHY]
    asked = bridge("request", "https://green.tea.test/", "--manifests", tmp_path)
    assert asked.returncode == 1
    assert f"is not attached: {WHY}" in asked.stdout


ELSEWHERE = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: istio}
spec: {controllerName: istio.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: mesh, namespace: tea}
spec: {gatewayClassName: istio, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: away, namespace: tea}
spec:
  parentRefs: [{name: mesh}]
  hostnames: [away.tea.test]
  rules: [{name: all}]
---
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: auth}
spec:
  policy: bridge.guardrails.required_policy
  parameters: {kinds: [gateway.envoyproxy.io/SecurityPolicy]}
  enforcementAction: deny
"""


def test_targets_without_a_policy_are_those_that_required_policy_reports(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "away.yaml").write_text(ELSEWHERE)
    judged = bridge("problems", "--violations", "--manifests", tmp_path).stdout
    assert re.search(
        r"HTTPRoute/tea/away .*all .*no SecurityPolicy is in effect for away.tea.test", " ".join(judged.split())
    )
    listed = bridge("get", "targets", "--without", "SecurityPolicy", "--manifests", tmp_path)
    assert re.search(
        r"TARGET +VIA +OTHER CONTROLLER\nHTTPRoute/tea/away#all +tea/mesh#http +istio.io/gateway-controller\n",
        listed.stdout,
    )
