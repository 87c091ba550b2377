"""`pbctl run` with a webhook, on a cluster with the example: what kubectl says as policies and objects come in."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.admitting import Said, bridge_beside_the_shop, speaking, until
from tests.eventually import equal_to, eventually_blocking

pytestmark = pytest.mark.long

CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/policy-bridge"
SALE = """
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: sale, namespace: shop}
spec:
  targetRefs:
  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}
  defaults: {strategy: patch, colors: {background: gold, text: black}, contrast: 3}
"""
POLICY = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: placement
  namespace: opa-policies
  labels: {openpolicyagent.org/policy: rego}
data:
  placement.rego: |
    package io.k8s.federation.admission

    annotations["example.com/clusters"] := ["eu"] if input.metadata.labels.region == "eu"

    errors contains "label team is missing" if {
      input.kind == "ConfigMap"
      not input.metadata.labels.team
    }
"""
OBJECT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: placed, namespace: shop, labels: {team: a, region: eu}}
"""
CONSTRAINT = """
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: limits}
spec:
  policy: limits
  match:
    kinds: [{apiGroups: [""], kinds: [ConfigMap]}]
"""


@pytest.fixture
def kubectl(own_control_plane: ControlPlane, kubectl_path: Path) -> Said:
    return speaking(kubectl_path, own_control_plane)


@pytest.fixture
def bridge(
    own_control_plane: ControlPlane, kubectl: Said, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    with bridge_beside_the_shop(own_control_plane, kubectl, bridge_path, environment, tmp_path) as process:
        yield process


def test_policies_and_objects_are_checked_on_their_way_in(
    own_control_plane: ControlPlane, kubectl: Said, bridge: subprocess.Popen[bytes]
) -> None:
    dry, create = ["apply", "--dry-run=server", "-f", "-"], ["create", "configmap", "unlimited"]
    until(kubectl, dry, SALE, "ColorPolicy/shop/sale becomes effective on 1 route of namespace shop")
    _, reported = kubectl(*dry, text=SALE)
    assert (
        "overridden by infra/accessibility (Patch overrides), infra/internal-tools (Atomic overrides) on 1 of"
        in reported
    )
    assert "ColorPolicy/shop/sale overrides shop/cart on 1 route" in reported
    code, reported = kubectl(*dry, text=SALE.replace("HTTPRoute", "TLSRoute"))
    assert code == 1
    assert "denied the request: ColorPolicy/shop/sale is Invalid: ColorPolicy cannot target a TLSRoute" in reported
    assert own_control_plane.api.get(CONFIGURATION)["webhooks"][0]["failurePolicy"] == "Ignore"

    # From here on the webhook evaluates the rules for ConfigMaps, until the policy is deleted.
    assert kubectl("apply", "-f", "-", text=CONSTRAINT)[0] == 0
    until(kubectl, [*create, "--dry-run=server"], "", "[limits] policy limits is not loaded")
    assert kubectl("delete", "constraint", "limits")[0] == 0
    until(kubectl, [*create, "--dry-run=server"], "", "configmap/unlimited created (server dry run)")

    assert kubectl("apply", "-f", "-", text=POLICY)[0] == 0
    until(kubectl, create, "", "denied the request: label team is missing")
    assert kubectl("apply", "-f", "-", text=OBJECT)[0] == 0
    placed = own_control_plane.api.get("/api/v1/namespaces/shop/configmaps/placed")
    assert placed["metadata"]["annotations"]["example.com/clusters"] == '["eu"]'
    eventually_blocking(
        lambda: own_control_plane.api.get(CONFIGURATION)["webhooks"][0]["failurePolicy"], equal_to("Fail")
    )

    bridge.terminate()
    bridge.wait()
    until(kubectl, create, "", "failed calling webhook")
    code, reported = kubectl("apply", "-f", "-", text=POLICY.replace("team is", "team was"))  # its namespace is exempt
    assert code == 0, reported
