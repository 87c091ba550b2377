"""A decision that gets whole AdmissionReviews of a real API server: it denies deletions, and patches objects."""

from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.admitting import Said, asked, speaking, until
from tests.e2e.conftest import ROOT

pytestmark = pytest.mark.long

LIBRARY = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: library
  namespace: opa-policies
  labels: {openpolicyagent.org/policy: rego, policybridge.io/rego-version: v0}
data:
  protection: |
    package lib.protection

    protects(object) { object.metadata.labels.protected == "true" }
"""
POLICY = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: admission
  namespace: opa-policies
  labels: {openpolicyagent.org/policy: rego, policybridge.io/rego-version: v0}
data:
  admission: |
    package kubernetes.admission

    import data.lib.protection

    deny[msg] {
        input.request.operation == "DELETE"
        protection.protects(input.request.oldObject)
        msg := sprintf("%v is protected", [input.request.name])
    }

    patches[{"op": "add", "path": "/metadata/labels/by", "value": replace(input.request.userInfo.username, ":", ".")}] {
        input.request.operation == "CREATE"
        input.request.object.metadata.labels.signed
    }

    patches[{"op": "put", "path": "/metadata/labels"}] { input.request.object.metadata.labels.broken }

    deny[msg] {
        input.request.operation == "CONNECT"
        input.request.subResource == "exec"
        input.request.object.command[_] == "sh"
        msg := sprintf("no shell in %v", [input.request.name])
    }
"""
OBJECT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: default, labels: {protected: "true", signed: "yes"}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: app, namespace: default}
spec: {containers: [{name: app, image: example.com/app}]}
"""
SETTINGS = {"BRIDGE_WEBHOOK_INPUT": "review", "BRIDGE_WEBHOOK_DECISION": "kubernetes/admission"}


@pytest.fixture
def kubectl(own_control_plane: ControlPlane, kubectl_path: Path) -> Said:
    return speaking(kubectl_path, own_control_plane)


def test_deletions_are_denied_and_objects_patched(
    own_control_plane: ControlPlane, kubectl: Said, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    assert kubectl("apply", f"--filename={ROOT / 'deploy' / 'crds'}")[0] == 0
    assert kubectl("create", "namespace", "opa-policies")[0] == 0
    assert kubectl("apply", "-f", "-", text=LIBRARY + "---" + POLICY)[0] == 0
    with asked(own_control_plane, kubectl, bridge_path, {**environment, **SETTINGS}, tmp_path):
        delete = ["delete", "configmap", "library", "-n", "opa-policies", "--dry-run=server"]
        until(
            kubectl, delete, "", "other policies need these modules: core/ConfigMap/opa-policies/admission admission:7"
        )
        apply = ["apply", "-f", "-"]
        until(kubectl, apply, OBJECT, "configmap/kept")
        assert kubectl("get", "configmap", "kept", "-o", "jsonpath={.metadata.labels.by}")[1] != ""
        code, text = kubectl("create", "configmap", "other", "--dry-run=server")
        assert code == 0, text
        code, text = kubectl(*apply, text=OBJECT.replace("name: kept", "name: other").replace("signed", "broken"))
        assert (code, 'operation 1 of the decision\'s patch has the op "put"' in text) == (1, True), text
        assert kubectl("get", "configmap", "other")[0] == 1
        assert kubectl(*apply, text=POD)[0] == 0
        execute = ["exec", "app", "--"]
        assert "no shell in app" in kubectl(*execute, "sh")[1]
        text = kubectl(*execute, "ls")[1]  # the API server goes on to the node, which the Pod does not have
        assert "does not have a host assigned" in text, text
        code, text = kubectl("delete", "configmap", "kept")
        assert (code, "kept is protected" in text) == (1, True)
        assert kubectl("label", "configmap", "kept", "protected-")[0] == 0
        assert kubectl("delete", "configmap", "kept")[0] == 0
        assert kubectl("delete", "configmap", "admission", "-n", "opa-policies")[0] == 0
        until(kubectl, delete, "", "deleted")
