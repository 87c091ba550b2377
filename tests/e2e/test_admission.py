"""`bridge run` with a webhook, on a cluster with the example: what kubectl says as policies and objects come in."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ROOT, SHOP

pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
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

Said = Callable[..., tuple[int, str]]


@pytest.fixture
def kubectl(own_control_plane: ControlPlane, kubectl_path: Path) -> Said:
    """Runs kubectl: its exit code, and all that it said."""
    at = Kubectl(kubectl_path, own_control_plane)

    def run(*arguments: str, text: str = "") -> tuple[int, str]:
        done = at.run(*arguments, text=text)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def bridge(
    own_control_plane: ControlPlane, kubectl: Said, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A bridge whose webhook the API server asks, on a cluster with the example."""
    plane = own_control_plane
    kubectl("apply", f"--filename={ROOT / 'deploy' / 'crds'}")
    kubectl("apply", f"--filename={SHOP}")
    plane.api.wait_for_crds({"policykinds.policybridge.io", "colorpolicies.example.com", "timeoutpolicies.example.com"})
    assert kubectl("apply", f"--filename={SHOP}")[0] == 0
    assert kubectl("create", "namespace", "opa-policies")[0] == 0
    with asked(plane, kubectl, bridge_path, environment, tmp_path) as process:
        yield process


@contextmanager
def asked(
    plane: ControlPlane, kubectl: Said, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A bridge whose webhook the API server asks."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    requested = ["webhook-config", "--url", f"https://{address}/admission"]
    printed = subprocess.run(
        [bridge_path, *requested], env=environment, capture_output=True, text=True, check=True
    ).stdout
    # On a loaded machine a request may take longer than users should wait.
    printed = re.sub(r"timeoutSeconds: \d+", "timeoutSeconds: 20", printed)
    assert kubectl("apply", "-f", "-", text=printed)[0] == 0
    arguments = ["--kubeconfig", str(plane.kubeconfig), "--listen", "127.0.0.1:0", "--webhook-listen", address]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [bridge_path, "run", *arguments],
            stdout=log,
            stderr=log,
            env={**environment, "BRIDGE_WEBHOOK_URL": f"https://{address}/admission"},
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            print((tmp_path / "log").read_text())  # noqa: T201 - what pytest shows of a failure


def until(kubectl: Said, arguments: list[str], text: str, said: str) -> None:
    """Wait until a kubectl command says this."""
    deadline = time.monotonic() + PATIENCE
    while said not in (reported := kubectl(*arguments, text=text)[1]):
        assert time.monotonic() < deadline, reported
        time.sleep(0.2)


def test_policies_and_objects_are_checked_on_their_way_in(
    own_control_plane: ControlPlane, kubectl: Said, bridge: subprocess.Popen[bytes]
) -> None:
    dry, create = ["apply", "--dry-run=server", "-f", "-"], ["create", "configmap", "unlimited"]
    until(kubectl, dry, SALE, "ColorPolicy shop/sale becomes effective on 1 route of namespace shop")
    _, reported = kubectl(*dry, text=SALE)
    assert (
        "overridden by infra/accessibility (Patch overrides), infra/internal-tools (Atomic overrides) on 1 of"
        in reported
    )
    assert "ColorPolicy shop/sale overrides shop/cart on 1 route" in reported
    code, reported = kubectl(*dry, text=SALE.replace("HTTPRoute", "TLSRoute"))
    assert code == 1
    assert "denied the request: ColorPolicy shop/sale is Invalid: ColorPolicy cannot target a TLSRoute" in reported
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
    deadline = time.monotonic() + PATIENCE
    while own_control_plane.api.get(CONFIGURATION)["webhooks"][0]["failurePolicy"] != "Fail":
        assert time.monotonic() < deadline
        time.sleep(0.2)

    bridge.terminate()
    bridge.wait()
    until(kubectl, create, "", "failed calling webhook")
    code, reported = kubectl("apply", "-f", "-", text=POLICY.replace("team is", "team was"))  # its namespace is exempt
    assert code == 0, reported


GUARDRAIL = """
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: public-routes-have-colors}
spec:
  policy: bridge.guardrails.required_policy
  match: {kinds: [{apiGroups: [gateway.networking.k8s.io], kinds: [HTTPRoute]}]}
  parameters: {kinds: [example.com/ColorPolicy]}
"""


def test_a_deletion_that_a_guardrail_does_not_allow_is_denied(kubectl: Said, bridge: subprocess.Popen[bytes]) -> None:
    assert bridge.poll() is None
    assert kubectl("apply", "-f", "-", text=GUARDRAIL)[0] == 0
    delete = ["delete", "colorpolicy", "--namespace=infra"]
    denied = (
        "[public-routes-have-colors] HTTPRoute infra/redirect: rule to-https via Gateway infra/public#http: "
        "no ColorPolicy is in effect for *"
    )
    until(kubectl, [*delete, "brand", "--dry-run=server"], "", denied)
    code, reported = kubectl(*delete, "brand")
    assert (code, denied in reported) == (1, True), reported
    # The route has another policy then, and the deletion introduces no violation.
    kept = SALE.replace("name: sale, namespace: shop", "name: kept, namespace: infra").replace(
        "name: cart", "name: redirect"
    )
    assert kubectl("apply", "-f", "-", text=kept)[0] == 0
    until(kubectl, [*delete, "brand", "--dry-run=server"], "", "deleted")
    assert kubectl(*delete, "brand")[0] == 0
    until(kubectl, [*delete, "kept", "--dry-run=server"], "", denied)  # OPA knows by then that the other one is gone
    code, reported = kubectl(*delete, "kept")
    assert (code, denied in reported) == (1, True), reported
