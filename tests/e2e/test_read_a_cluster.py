"""Read commands on a cluster, as kubectl reads it: no bridge and no OPA runs beside it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.fixtures import Apply
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import Run
from tests.integration.api_objects import crd

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


def test_deployment_of_a_cluster_means_the_services_that_select_it(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply
) -> None:
    workload = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop", "namespace": NAME},
        "spec": {
            "selector": {"matchLabels": {"app": "shop"}},
            "template": {
                "metadata": {"labels": {"app": "shop"}},
                "spec": {"containers": [{"name": "shop", "image": "example.com/shop"}]},
            },
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "basket", "namespace": NAME},
        "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]},
    }
    kubectl_apply("---\n".join([f"{OBJECTS}", *map(yaml.safe_dump, (workload, service))]))
    options = ("-n", NAME, "--kubeconfig", control_plane.kubeconfig, "-o", "name")
    answer = bridge("describe", "deploy/shop", *options)
    assert (answer.stdout, answer.stderr) == ("service/basket\n", "")


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


TINTS = f"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: shades.{NAME}.example.com, labels: {{gateway.networking.k8s.io/policy: Direct}}}}
spec:
  group: {NAME}.example.com
  names: {{kind: ShadePolicy, plural: shades, singular: shade}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"""
SHADE = f"""\
apiVersion: {NAME}.example.com/v1
kind: ShadePolicy
metadata: {{name: shade, namespace: {NAME}}}
spec:
  targetSelectors: [{{group: "", kind: Service, matchLabels: {{team: web}}}}]
  shade: 1
"""
LABELED = f"""\
apiVersion: v1
kind: Service
metadata: {{name: cart, namespace: {NAME}, labels: {{team: web}}}}
spec: {{ports: [{{name: http, port: 80}}]}}
"""
RULES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shades, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  shades.rego: |
    package acme.shades
    dark := true
"""


def test_analysis_removes_labels_of_files_alone_and_reads_rego_of_the_cluster(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply, kubectl_path: Path, tmp_path: Path
) -> None:
    kubectl_apply(OBJECTS)
    kubectl_apply(TINTS)
    kubectl_apply(LABELED)
    kubectl_apply(SHADE)
    unlabeled = LABELED.replace(", labels: {team: web}", "")
    (tmp_path / "unlabeled.yaml").write_text(unlabeled)
    analyze = ("analyze", "-f", tmp_path / "unlabeled.yaml", "--kubeconfig", control_plane.kubeconfig, "-o", "json")
    done = bridge(*analyze)
    assert done.stdout, done.stderr
    kinds = {one["policyKind"].partition("/")[2]: one["after"] for one in json.loads(done.stdout)["effective"]}
    assert kinds == {"ShadePolicy": None}
    kubectl_apply(unlabeled)
    Kubectl(kubectl_path, control_plane)("label", "service/cart", "-n", NAME, "team=web")
    assert json.loads(bridge(*analyze).stdout)["effective"] == []  # no file had the label

    kubectl_apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: opa-policies}\n")
    kubectl_apply(RULES)
    deleted = ("analyze", "--delete", "configmap/opa-policies/shades", "--kubeconfig", control_plane.kubeconfig)
    found = json.loads(bridge(*deleted, "-o", "json").stdout)
    assert found["objects"]["deleted"] == ["core/ConfigMap/opa-policies/shades"]
    (tmp_path / "broken.yaml").write_text(RULES.replace("dark := true", "dark := missing(1)"))
    broken = bridge("analyze", "-f", tmp_path / "broken.yaml", "--kubeconfig", control_plane.kubeconfig, "-o", "json")
    found = json.loads(broken.stdout)
    assert found["objects"]["changed"] == ["core/ConfigMap/opa-policies/shades"]
    assert [one["reason"] for one in found["problems"]["introduced"]] == ["RegoRejected"]
    Kubectl(kubectl_path, control_plane)(
        "delete", "--wait=false", "crd", f"shades.{NAME}.example.com"
    )  # other tests list all policies


def test_effective_checks_no_rego_that_its_answer_does_not_read(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply, kubectl_path: Path
) -> None:
    kubectl_apply(OBJECTS)
    kubectl_apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: opa-policies}\n")
    broken = RULES.replace("dark := true", "dark := missing(1)")
    kubectl_apply(broken)
    source = ("--kubeconfig", control_plane.kubeconfig)
    rejected = "rejected Rego is not included in this result: ConfigMap/opa-policies/shades"
    try:
        assert rejected in bridge("status", *source).stderr
        found = bridge("effective", "-n", NAME, *source)
        assert (rejected in found.stderr, "cart.example.com" in found.stdout) == (False, True)
        kubectl_apply(broken.replace("acme.shades", "bridge.strategies.shades"))
        assert rejected in bridge("effective", "-n", NAME, *source).stderr
    finally:
        Kubectl(kubectl_path, control_plane)("delete", "configmap/shades", "-n", "opa-policies")


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


ROLE = f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: routes, namespace: {NAME}}}
rules:
- {{apiGroups: [{GATEWAY_API}], resources: [httproutes, backendtlspolicies], verbs: [list, watch]}}
- {{apiGroups: [""], resources: [services], verbs: [list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: routes, namespace: {NAME}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: routes}}
subjects: [{{kind: ServiceAccount, name: tenant, namespace: {NAME}}}]
---
apiVersion: {GATEWAY_API}/v1
kind: HTTPRoute
metadata: {{name: cart, namespace: {NAME}}}
spec:
  parentRefs: [{{name: public, namespace: {NAME}-infra}}]
  rules: [{{name: all, backendRefs: [{{name: missing, port: 80}}]}}]
"""


def _kubeconfig_of(control_plane: ControlPlane, account: str, file: Path) -> Path:
    """Write the kubeconfig of a ServiceAccount."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{NAME}/serviceaccounts/{account}/token"
    made = control_plane.api.request("POST", path, body)
    return control_plane.write_kubeconfig(file, str(made["status"]["token"]))


def _in_namespace(kubeconfig: Path, namespace: str) -> Path:
    """Return a copy of a kubeconfig with this namespace in its context."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = namespace
    file = kubeconfig.with_suffix(".namespace")
    file.write_text(yaml.safe_dump(config))
    return file


def test_a_user_with_a_role_in_one_namespace_reads_it_and_learns_the_missing_rights(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply, tmp_path: Path
) -> None:
    kubectl_apply(f"{OBJECTS}---\n{USER.replace('developer', 'tenant')}---\n{ROLE}")
    kubeconfig = _kubeconfig_of(control_plane, "tenant", tmp_path / "tenant")
    there = ("-n", NAME, "--kubeconfig", kubeconfig)
    effective = bridge("effective", "svc/cart", *there, "-o", "json")
    assert {entry["policyKind"] for entry in _effective(effective.stdout)} == {f"{GATEWAY_API}/BackendTLSPolicy"}
    line, hint = effective.stderr.splitlines()
    assert re.fullmatch(r"Incomplete: you can't read Gateways, \d other types or other namespaces", line)
    assert "`pbctl doctor`" in hint
    # What this user may not read may exist; the missing Service would be visible.
    whole = (
        bridge("explain", "svc/cart", *there, "-o", "json").stdout + bridge("graph", "httproute/cart", *there).stdout
    )
    whole += bridge("request", "http://a.example.com", *there).stdout
    assert "You can't read the Gateways, so the rule that serves this request is unknown" in whole
    assert "does not exist" not in whole
    assert "no Gateway" not in whole
    doctor = bridge("doctor", "--kubeconfig", _in_namespace(kubeconfig, NAME), "-o", "json")
    (found,) = [check for check in json.loads(doctor.stdout) if check["name"] == "api server"]
    assert f"in namespace {NAME} you may list services; httproutes ({GATEWAY_API})" in found["found"]
    assert "the role that `pbctl admin rbac --cluster --reader` prints" in found["fix"]
    problems = bridge("problems", *there, "-o", "json")
    assert [one["reason"] for one in json.loads(problems.stdout)] == ["BackendNotFound"]
    assert bridge("get", "routes", *there, "-o", "name").stdout.split() == [f"httproute.{GATEWAY_API}/cart"]
    by_name = bridge("describe", f"httproute/{NAME}/cart", "--kubeconfig", kubeconfig, "-o", "name")
    assert by_name.stdout.split() == [f"httproute.{GATEWAY_API}/cart"]
    unreadable = bridge("get", "hues", *there)
    assert unreadable.stderr.splitlines()[-1] == "error: 'hues' is not a kind among the objects that you may read"
    elsewhere = bridge("get", "routes", "--kubeconfig", kubeconfig)
    nothing = "No routes found in namespace default (-A: in all namespaces), as far as the source could be read."
    assert elsewhere.stderr.splitlines()[-1] == nothing


def test_printed_role_reads_one_namespace(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply, tmp_path: Path
) -> None:
    kubectl_apply(f"{OBJECTS}---\n{USER.replace('developer', 'member')}---\n{ROLE.partition('---')[2]}")
    printed = bridge("admin", "rbac", "--reader", "-n", NAME, "--name", NAME, "--kubeconfig", control_plane.kubeconfig)
    assert printed.returncode == 0, printed.stderr
    roles = [one for one in yaml.safe_load_all(printed.stdout) if one]
    assert [(one["kind"], one["metadata"]["namespace"]) for one in roles] == [("Role", NAME)]
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "member", "namespace": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": roles[0]["metadata"]["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": "member", "namespace": NAME}],
    }
    kubectl_apply(f"{printed.stdout}\n---\n{yaml.safe_dump(binding)}")
    kubeconfig = _kubeconfig_of(control_plane, "member", tmp_path / "member")
    listed = bridge("get", "policies,routes,gateways", "-n", NAME, "--kubeconfig", kubeconfig, "-o", "name")
    assert f"gateway.{GATEWAY_API}/edge" in listed.stdout.split()
    line = listed.stderr.splitlines()[0]
    assert re.fullmatch(r"Incomplete: you can't read policy CRDs, \d other types or other namespaces", line)


def test_lists_are_of_the_namespace_of_the_context_and_names_are_found_everywhere(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply, tmp_path: Path
) -> None:
    kubectl_apply(OBJECTS)
    config = yaml.safe_load(control_plane.kubeconfig.read_text())

    def listed(namespace: str, *words: str) -> list[str]:
        config["contexts"][0]["context"]["namespace"] = namespace
        file = tmp_path / "config"
        file.write_text(yaml.safe_dump(config))
        return bridge(*words, "--kubeconfig", file, "-o", "name").stdout.split()

    service = f"core/Service/{NAME}/cart"
    assert service in listed(NAME, "effective")
    assert service not in listed("default", "effective")
    assert service in listed("default", "effective", "-A")
    assert service in listed("default", "effective", "-n", NAME)
    assert listed("default", "effective", f"svc/{NAME}/cart") == listed(NAME, "effective", "svc/cart")
    assert listed("default", "get", "gateways", "edge") == listed(NAME, "get", "gateways", "edge") != []


def test_a_user_without_rights_gets_a_line_and_a_complete_answer_with_the_role_of_a_reader(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply, tmp_path: Path
) -> None:
    kubectl_apply(f"{OBJECTS}---\n{USER}")
    kubeconfig = _kubeconfig_of(control_plane, "developer", tmp_path / "developer")
    ask = ("effective", "svc/cart", "-n", NAME, "--kubeconfig", kubeconfig, "-o", "json")
    lines = bridge(*ask).stderr.splitlines()
    assert lines[0].startswith("Incomplete: you can't read Gateways, "), lines
    printed = bridge("rbac", "--reader", "--name", NAME, "--kubeconfig", control_plane.kubeconfig)
    assert printed.returncode == 0, printed.stderr
    kubectl_apply(printed.stdout + "---\n" + BINDING)
    complete = bridge(*ask)
    assert (complete.returncode, complete.stderr) == (0, "")
    assert {entry["policyKind"] for entry in _effective(complete.stdout)} == {f"{GATEWAY_API}/BackendTLSPolicy"}


def test_the_role_of_a_reader_needs_no_namespace_for_rego(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply, tmp_path: Path
) -> None:
    account, nowhere = "visitor", {"BRIDGE_POLICY_NAMESPACES": f"{NAME}-nowhere"}
    kubectl_apply(f"{OBJECTS}---\n{USER.replace('developer', account)}")
    source = ("--cluster", "--kubeconfig", control_plane.kubeconfig)
    printed = bridge("admin", "rbac", "--reader", "--name", account, *source, more=nowhere)
    assert [one["kind"] for one in yaml.safe_load_all(printed.stdout)] == ["ClusterRole"], printed.stderr
    binding = BINDING.partition("---")[0].replace(NAME, account).replace("developer", account)
    kubectl_apply(f"{printed.stdout}\n---\n{binding.replace(f'namespace: {account}', f'namespace: {NAME}')}")
    kubeconfig = _kubeconfig_of(control_plane, account, tmp_path / account)
    found = bridge("status", "-n", NAME, "--kubeconfig", kubeconfig, more=nowhere)
    assert (found.returncode, found.stderr) == (0, "")


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
def test_a_cluster_without_gateway_api_is_named_also_right_after_the_bridges_crds_are_applied(
    bridge: Run, bare_control_plane: ControlPlane, kubectl_path: Path
) -> None:
    plane = bare_control_plane
    Kubectl(kubectl_path, plane)("apply", "-f", "-", text=bridge("crds").stdout)
    answer = bridge("get", "httproutes", "-A", "--kubeconfig", plane.kubeconfig)
    assert answer.returncode == 2
    problem, nothing = answer.stderr.splitlines()
    assert problem.startswith(f"error: {plane.url}: the API server does not serve Gateway API: apply its CRDs")
    assert f"kubeconfig {plane.kubeconfig}, context " in problem
    assert nothing == "No httproutes found, as far as the source could be read."


def test_unknown_credentials_are_named_with_their_server(
    bridge: Run, control_plane: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "config", "wrong")
    answer = bridge("effective", "--kubeconfig", kubeconfig)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"error: {control_plane.url}: 401 Unauthorized")
    assert f"kubeconfig {kubeconfig}, context " in answer.stderr
    assert "renew the credentials there, or choose another --context" in answer.stderr
