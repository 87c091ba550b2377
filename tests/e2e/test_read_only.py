"""`pbctl run --read-only` on a cluster: it answers, with permissions to read alone, and writes nothing."""

import json
from pathlib import Path

import pytest
import yaml

from bridge.cli.main import run_command
from tests.controlplane.fixtures import Apply
from tests.controlplane.plane import ControlPlane
from tests.e2e.serving import bridge_runs
from tests.eventually import eventually_blocking
from tests.in_process import run_with_opa

NAME = "read-only"
GATEWAY_API = "gateway.networking.k8s.io"
OBJECTS = f"""\
apiVersion: v1
kind: Namespace
metadata: {{name: {NAME}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: observer, namespace: {NAME}}}
---
apiVersion: v1
kind: Service
metadata: {{name: cart, namespace: {NAME}}}
spec: {{ports: [{{name: http, port: 80}}]}}
---
apiVersion: {GATEWAY_API}/v1
kind: BackendTLSPolicy
metadata: {{name: tls, namespace: {NAME}}}
spec:
  targetRefs: [{{group: "", kind: Service, name: cart}}]
  validation: {{hostname: cart.example.com, wellKnownCACertificates: System}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: broken, namespace: {NAME}, labels: {{openpolicyagent.org/policy: rego}}}}
data: {{broken.rego: "package broken\\n\\nx := \\n"}}
"""


def test_bridge_answers_and_writes_nothing(
    bridge_path: Path,
    environment: dict[str, str],
    control_plane: ControlPlane,
    kubectl_apply: Apply,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    kubectl_apply(OBJECTS)
    config = tmp_path / "bridge.yaml"
    places = {"lease_namespace": NAME, "lease_name": NAME, "policy_namespaces": [NAME]}
    config.write_text(yaml.safe_dump({**places, "read_only": True}))
    account = f"{NAME}/observer"
    assert run_command(["admin", "rbac", "--config", str(config), "--name", NAME, "--service-account", account]) == 0
    kubectl_apply(capsys.readouterr().out)
    token = control_plane.api.request(
        "POST",
        f"/api/v1/namespaces/{NAME}/serviceaccounts/observer/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )["status"]["token"]
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig", str(token))
    log = tmp_path / "log"
    options = ("--config", config, "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0")
    with bridge_runs(bridge_path, environment, log, *options) as served:
        found = json.loads(run_with_opa(served.opa_url, "effective", "svc/cart", "-n", NAME, "-o", "json").stdout)
        assert {entry["policyKind"] for entry in found} == {f"{GATEWAY_API}/BackendTLSPolicy"}
        # The author's mistake is in the log, where a bridge that writes has it in an annotation and an Event.
        eventually_blocking(lambda: "broken.rego" in log.read_text(), about=log.read_text)
    assert "forbidden" not in log.read_text()
    read = control_plane.api.request
    assert "annotations" not in read("GET", f"/api/v1/namespaces/{NAME}/configmaps/broken")["metadata"]
    assert read("GET", f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases")["items"] == []
    assert read("GET", f"/apis/events.k8s.io/v1/namespaces/{NAME}/events")["items"] == []


def test_read_only_excludes_admission(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "--read-only", "--webhook-listen", "127.0.0.1:0"]) == 2
    assert "read_only excludes webhook_listen" in capsys.readouterr().err
