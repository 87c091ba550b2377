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
