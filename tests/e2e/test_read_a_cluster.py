"""Read commands on a cluster, as kubectl reads it: no bridge and no OPA runs beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.fixtures import Apply
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import Run
from tests.integration.objects import crd

NAME = "read-a-cluster"
GATEWAY_API = "gateway.networking.k8s.io"
OBJECTS = f"""\
apiVersion: v1
kind: Namespace
metadata: {{name: {NAME}}}
---
apiVersion: {GATEWAY_API}/v1
kind: Gateway
metadata: {{name: edge, namespace: {NAME}}}
spec:
  gatewayClassName: {NAME}
  listeners: [{{name: http, port: 80, protocol: HTTP}}]
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
"""


def _effective(answer: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(answer)
    return entries


def test_a_cluster_is_read_by_its_kubeconfig(bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply) -> None:
    kubectl_apply(OBJECTS)
    kubeconfig = control_plane.kubeconfig
    answer = bridge("effective", "svc/cart", "-n", NAME, "--kubeconfig", kubeconfig, "-o", "json")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert {entry["policyKind"] for entry in _effective(answer.stdout)} == {f"{GATEWAY_API}/BackendTLSPolicy"}
    # As kubectl: nothing said, the kubeconfig of the environment; an option goes before BRIDGE_OPA_URL.
    more = {"KUBECONFIG": str(kubeconfig)}
    assert bridge("effective", "svc/cart", "-n", NAME, "-o", "json", more=more).stdout == answer.stdout
    more = {"BRIDGE_OPA_URL": "http://127.0.0.1:9"}
    again = bridge("effective", "svc/cart", "-n", NAME, "--kubeconfig", kubeconfig, "-o", "json", more=more)
    assert again.stdout == answer.stdout


def test_a_cluster_is_compared_with_another_and_with_a_folder(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply, tmp_path: Path
) -> None:
    kubectl_apply(OBJECTS)
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["contexts"] = [{**config["contexts"][0], "name": name} for name in ("staging", "production")]
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    (tmp_path / "objects.yaml").write_text(OBJECTS.replace("hostname: cart.example.com", "hostname: old.example.com"))
    compare = ("compare", "--kubeconfig", tmp_path / "kubeconfig", "--context", "staging", "-n", NAME)

    same = bridge(*compare, "--context", "production")
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout == "Effective policies do not differ; 2 paths are equal.\n"
    answer = bridge(*compare, "--manifests", tmp_path / "objects.yaml", "-o", "json")
    assert answer.returncode == 1
    for one in json.loads(answer.stdout)["effective"]:
        hostnames = [one[side]["spec"]["validation"]["hostname"] for side in ("before", "after")]
        assert hostnames == ["cart.example.com", "old.example.com"]
    unknown = bridge(*compare, "--context", "prod")
    assert unknown.returncode == 2
    assert "prod" in unknown.stderr


BINDING = f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {NAME}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {NAME}-reader}}
subjects: [{{kind: ServiceAccount, name: developer, namespace: {NAME}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: {NAME}, namespace: opa-policies}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {NAME}-reader}}
subjects: [{{kind: ServiceAccount, name: developer, namespace: {NAME}}}]
"""
USER = f"""\
apiVersion: v1
kind: ServiceAccount
metadata: {{name: developer, namespace: {NAME}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: opa-policies}}
"""


def test_a_user_without_rights_gets_a_line_and_a_complete_answer_with_the_role_of_a_reader(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply, tmp_path: Path
) -> None:
    kubectl_apply(OBJECTS + "---\n" + USER)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{NAME}/serviceaccounts/developer/token"
    made = control_plane.api.request("POST", path, body)
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "developer", str(made["status"]["token"]))
    ask = ("effective", "svc/cart", "-n", NAME, "--kubeconfig", kubeconfig, "-o", "json")
    lines = bridge(*ask).stderr.splitlines()
    assert len([line for line in lines if "`bridge rbac --reader` prints" in line]) == 1, lines
    printed = bridge("rbac", "--reader", "--name", NAME, "--kubeconfig", control_plane.kubeconfig)
    assert printed.returncode == 0, printed.stderr
    kubectl_apply(printed.stdout + "---\n" + BINDING)
    complete = bridge(*ask)
    assert (complete.returncode, complete.stderr) == (0, "")
    assert {entry["policyKind"] for entry in _effective(complete.stdout)} == {f"{GATEWAY_API}/BackendTLSPolicy"}


def test_a_crd_that_was_just_applied_keeps_no_command_from_answering(bridge: Run, control_plane: ControlPlane) -> None:
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = crd("freshpolicies", "FreshPolicy", group="fresh.example.com")
    made["metadata"]["labels"] = {"gateway.networking.k8s.io/policy": "Direct"}
    control_plane.api.apply(f"{crds}/freshpolicies.fresh.example.com", made)
    answer = bridge("get", "policykinds", "--kubeconfig", control_plane.kubeconfig)
    control_plane.api.request("DELETE", f"{crds}/freshpolicies.fresh.example.com")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "fresh.example.com/FreshPolicy" in answer.stdout


def test_a_cluster_that_is_unavailable_is_reported_at_once(
    bridge: Run, control_plane: ControlPlane, tmp_path: Path
) -> None:
    away = control_plane.write_kubeconfig(tmp_path / "kubeconfig", control_plane.token, "https://127.0.0.1:9")
    answer = bridge("effective", "--kubeconfig", away)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("https://127.0.0.1:9") == 1
    assert f"kubeconfig {away}, context " in answer.stderr
    assert "check the server there, or choose another --context" in answer.stderr


@pytest.mark.long
def test_a_cluster_without_gateway_api_is_named(bridge: Run, bare_control_plane: ControlPlane) -> None:
    plane = bare_control_plane
    answer = bridge("get", "httproutes", "--kubeconfig", plane.kubeconfig)
    assert answer.returncode == 2
    assert f"error: {plane.url}: the API server does not serve Gateway API: apply its CRDs" in answer.stderr
    assert f"kubeconfig {plane.kubeconfig}, context " in answer.stderr


def test_unknown_credentials_are_named_with_their_server(
    bridge: Run, control_plane: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "config", "wrong")
    answer = bridge("effective", "--kubeconfig", kubeconfig)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"error: {control_plane.url}: 401 Unauthorized")
    assert f"kubeconfig {kubeconfig}, context " in answer.stderr
    assert "renew the credentials there, or choose another --context" in answer.stderr


def test_one_source_is_read(bridge: Run) -> None:
    answer = bridge("effective", "--kubeconfig", "a", "--manifests", "b")
    assert answer.returncode == 2
    assert answer.stderr == ("error: --manifests and --kubeconfig exclude each other: give one source\n")


def test_without_a_source_all_are_named(bridge: Run, tmp_path: Path) -> None:
    answer = bridge("effective", more={"HOME": str(tmp_path)})
    assert answer.returncode == 2
    assert answer.stderr == (
        "error: no source: there is no kubeconfig; give --manifests PATH, --opa URL (or set BRIDGE_OPA_URL), "
        "or --kubeconfig FILE\n"
    )


def test_one_namespace_and_all_exclude_each_other(bridge: Run) -> None:
    answer = bridge("effective", "-n", "shop", "-A", "--manifests", "b")
    assert answer.stderr == "error: -n and -A exclude each other: -n selects one namespace, -A all of them\n"
