"""`pbctl admin uninstall-status`: a cluster that has met a bridge is afterwards as one that never did."""

import json
import signal
import subprocess
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.admission.webhook_configuration import API_VERSION, KINDS, OF_THE_HIERARCHY
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import LIMITED_TOKEN, ControlPlane
from tests.e2e.conftest import ROOT, SHOP, Run
from tests.e2e.serving import bridge_starts
from tests.eventually import equal_to, eventually_blocking
from tests.integration.test_violation_reports_on_a_cluster import OPEN_REPORTS
from tests.ports import free_address

pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
OWN_CRDS = {f"{plural}.policybridge.io" for plural in ("policykinds", "regopolicies", "constraints")}
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/policy-bridge"
WEBHOOKS = [f"/apis/{API_VERSION}/{which.plural}/policy-bridge" for which in KINDS]
LISTS = (
    "/api/v1/namespaces",
    "/api/v1/services",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/apis/apps/v1/deployments",
    "/apis/gateway.networking.k8s.io/v1/gatewayclasses",
    "/apis/gateway.networking.k8s.io/v1/gateways",
    "/apis/gateway.networking.k8s.io/v1/httproutes",
    "/apis/gateway.networking.k8s.io/v1beta1/referencegrants",
    "/apis/example.com/v1/colorpolicies",
    "/apis/example.com/v1/timeoutpolicies",
    "/apis/policybridge.io/v1alpha1/policykinds",
    "/apis/policybridge.io/v1alpha1/regopolicies",
    "/apis/policybridge.io/v1alpha1/constraints",
    "/apis/openreports.io/v1alpha1/reports",
    "/apis/openreports.io/v1alpha1/clusterreports",
    *(f"/apis/{API_VERSION}/{which.plural}" for which in KINDS),
)
POLICIES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: placement, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  placement.rego: |
    package io.k8s.federation.admission

    annotations["example.com/clusters"] := ["eu"] if input.kind == "Deployment"
---
apiVersion: policybridge.io/v1alpha1
kind: RegoPolicy
metadata: {name: limits}
spec:
  modules:
    limits.rego: |
      package limits

      violation contains {"msg": "no"} if input.review.object.metadata.name == "catalog"
---
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: limits}
spec:
  policy: limits
  enforcementAction: warn
  match: {kinds: [{apiGroups: [""], kinds: [Service]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {example.com/owner: us}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
"""
SETTINGS = """
types: [apps/Deployment]
placement: [{type: apps/Deployment, mode: Write}]
"""
THEIRS = {
    "type": "Ready",
    "status": "True",
    "reason": "Ready",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
OTHER = {"controllerName": "acme.io/other", "conditions": [{**THEIRS, "type": "Accepted"}]}


@dataclass
class Cluster:
    """A control plane with the example, policies of every sort, and statuses of others; a bridge may run on it."""

    plane: ControlPlane
    kubectl: Kubectl
    bridge: Run
    settings: Path
    webhook: str
    environment: dict[str, str]
    bridge_path: Path
    log: Path

    def uninstall(self, *arguments: str | Path, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
        """What the command says."""
        return self.bridge("uninstall-status", "--kubeconfig", kubeconfig or self.plane.kubeconfig, *arguments)

    def shown(self, lists: tuple[str, ...] = LISTS) -> dict[str, Any]:
        """Every object, without what a write changes in any case, and without the kinds whose deletions are judged."""
        found = {}
        for path in lists:
            for obj in self.plane.api.get(path)["items"]:
                metadata = obj["metadata"]
                for name in ("managedFields", "resourceVersion", "generation"):
                    metadata.pop(name, None)
                for webhook in obj.get("webhooks", []):
                    kept = [one for one in webhook["matchConditions"] if one["name"] != OF_THE_HIERARCHY]
                    webhook["matchConditions"] = kept
                found[f"{path}/{metadata.get('namespace', '-')}/{metadata['name']}"] = obj
        return found

    def running(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """A bridge with a webhook, that writes."""
        options = [f"--kubeconfig={self.plane.kubeconfig}", "--listen=127.0.0.1:0", f"--config={self.settings}"]
        options += [f"--webhook-listen={self.webhook}"]
        url = f"https://{self.webhook}/admission"
        return bridge_starts(self.bridge_path, self.environment, self.log, *options, BRIDGE_WEBHOOK_URL=url)

    def until_written(self) -> None:
        """Wait until a bridge has written into an object of every sort."""
        eventually_blocking(self.unwritten, equal_to([]), about=self.log.read_text)

    def unwritten(self) -> list[str]:
        """What a bridge has not written yet, of all that it writes here."""
        shown = self.shown()
        texts = {name.split("/", 3)[-1]: json.dumps(obj) for name, obj in shown.items()}

        def has(end: str, text: str) -> bool:
            return any(name.endswith(end) and text in said for name, said in texts.items())

        lease = LEASE.rpartition("/")[0]
        return [
            what
            for what, is_there in {
                "conditions of a policy": has("colorpolicies/infra/brand", "Programmed"),
                "ancestors": has("timeoutpolicies/shop/catalog", "ancestorRef"),
                "a mark on a Service": has("services/shop/catalog", "TimeoutPolicyAffected"),
                "a mark on a Gateway": has("gateways/infra/public", "ColorPolicyAffected"),
                "a mark on a route": has("httproutes/shop/cart", "ColorPolicyAffected"),
                "placement": has("deployments/shop/web", "example.com/clusters"),
                "a report on a ConfigMap": has("configmaps/opa-policies/placement", "policybridge.io/status"),
                "a RegoPolicy's status": has("regopolicies/-/limits", "Accepted"),
                "a Constraint's status": has("constraints/-/limits", "conditions"),
                "a report of violations": any("/reports/shop/policy-bridge-" in name for name in shown),
                "a PolicyKind's status": has("policykinds/-/colorpolicies.example.com", "Accepted"),
                **{
                    f"the failurePolicy of {which.plural}": has(
                        f"{which.plural}/-/policy-bridge", '"failurePolicy": "Fail"'
                    )
                    for which in KINDS
                },
                "names on the Lease": "policybridge.io/marked" in json.dumps(self.plane.api.get(lease)),
            }.items()
            if not is_there
        ]


@pytest.fixture
def cluster(
    own_control_plane: ControlPlane,
    kubectl_path: Path,
    bridge: Run,
    bridge_path: Path,
    environment: dict[str, str],
    tmp_path: Path,
) -> Cluster:
    plane, kubectl = own_control_plane, Kubectl(kubectl_path, own_control_plane)
    kubectl("apply", f"--filename={ROOT / 'deploy' / 'crds'}")
    kubectl.run("apply", f"--filename={SHOP}")
    kubectl("apply", "-f", "-", text=yaml.safe_dump_all(OPEN_REPORTS))
    reports = {crd["metadata"]["name"] for crd in OPEN_REPORTS}
    plane.api.wait_for_crds({"colorpolicies.example.com", "timeoutpolicies.example.com"} | OWN_CRDS | reports)
    kubectl("apply", f"--filename={SHOP}")
    kubectl("create", "namespace", "opa-policies")
    kubectl("apply", "-f", "-", text=POLICIES)
    address = free_address()
    printed = bridge("webhook-config", "--url", f"https://{address}/admission").stdout
    kubectl("apply", "-f", "-", text=printed)
    for path, status in (
        ("/api/v1/namespaces/shop/services/catalog", {"conditions": [THEIRS]}),
        (
            "/apis/example.com/v1/namespaces/shop/timeoutpolicies/catalog",
            {"ancestors": [{**OTHER, "ancestorRef": {"name": "x"}}]},
        ),
        (
            "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/cart",
            {"parents": [{**OTHER, "parentRef": {"name": "x"}}]},
        ),
    ):
        body = {"status": status}
        plane.api.merge(f"{path}/status?fieldManager=others", body)
    settings = tmp_path / "bridge.yaml"
    settings.write_text(SETTINGS)
    return Cluster(plane, kubectl, bridge, settings, address, environment, bridge_path, tmp_path / "log")


def test_a_cluster_is_afterwards_as_if_it_had_never_met_a_bridge(cluster: Cluster) -> None:
    before = cluster.shown()
    with cluster.running() as process:
        cluster.until_written()
        refused = cluster.uninstall("--yes")
        assert refused.returncode == 2
        assert "would write everything again: stop the bridges first" in refused.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, cluster.log.read_text()
    written = cluster.shown()
    assert written != before

    dry = cluster.uninstall("--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "Service/shop/catalog " in dry.stdout
    assert "Deployment/shop/web " in dry.stdout
    assert cluster.shown() == written
    assert "give --yes" in cluster.uninstall().stderr  # there is no terminal

    done = cluster.uninstall("--yes")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "removed" in done.stdout
    _equal(cluster.shown(), before)
    assert cluster.kubectl.run("get", "lease", "policy-bridge").returncode != 0
    again = cluster.uninstall("--yes")
    assert (again.returncode, again.stdout) == (0, "")
    assert "Nothing of a bridge is left in this cluster." in again.stderr


@pytest.mark.long
def test_a_killed_bridge_without_its_crds_leaves_nothing_either(cluster: Cluster) -> None:
    """It waits for the Lease; the Lease and the objects name former PolicyKinds."""
    before = cluster.shown()
    with cluster.running() as process:
        cluster.until_written()
        process.kill()
        process.wait()
    assert cluster.plane.api.get(LEASE)["spec"]["holderIdentity"]
    for path in WEBHOOKS:
        cluster.plane.api.merge(path, {"webhooks": []})
    cluster.plane.api.delete_crds(OWN_CRDS)
    lists = tuple(path for path in LISTS if "policybridge.io" not in path and "webhookconfigurations" not in path)
    _forbid(cluster)
    limited = cluster.plane.write_kubeconfig(cluster.settings.parent / "limited", LIMITED_TOKEN)
    some = cluster.uninstall("--yes", "-o", "json", kubeconfig=limited)
    assert some.returncode == 1, some.stderr
    reported = json.loads(some.stdout)
    assert {one["notChecked"] for one in reported if "notChecked" in one} >= {"apps/Deployment"}
    assert [one["result"] for one in reported if one.get("object", "").startswith("Lease/")] == [
        "left: it stores names of remaining entries"
    ]
    assert cluster.uninstall("--yes").returncode == 0
    _equal(cluster.shown(lists), {name: obj for name, obj in before.items() if name.startswith(lists)})


def test_leases_of_all_namespaces_are_found(
    own_control_plane: ControlPlane, bridge: Run, environment: dict[str, str]
) -> None:
    api = own_control_plane.api

    def uninstall(*arguments: str) -> subprocess.CompletedProcess[str]:
        return bridge("uninstall-status", "--kubeconfig", own_control_plane.kubeconfig, *arguments)

    for namespace in ("apps", "policy-bridge"):
        api.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        api.request("POST", path, {"metadata": {"name": "policy-bridge"}})
    dry = uninstall("--dry-run")
    assert dry.returncode == 1
    assert "Lease/apps/policy-bridge" in dry.stdout
    assert "Lease/policy-bridge/policy-bridge   of other bridges: run the command again" in dry.stdout
    first = uninstall("--yes")
    assert first.returncode == 1, first.stderr
    assert "Nothing of a bridge is left" not in first.stderr
    second = uninstall("--yes")
    assert (second.returncode, "Lease/policy-bridge/policy-bridge" in second.stdout) == (0, True), second.stderr
    assert "Nothing of a bridge is left in this cluster." in uninstall("--yes").stderr


def _forbid(cluster: Cluster) -> None:
    """Grant everything except reading Deployments."""
    groups = ["", "gateway.networking.k8s.io", "example.com", "coordination.k8s.io", "admissionregistration.k8s.io"]
    groups.append("openreports.io")
    role = {"metadata": {"name": "some"}, "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}]}
    binding = {
        "metadata": {"name": "some"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "some"},
        "subjects": [{"kind": "User", "name": "limited", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    root = "/apis/rbac.authorization.k8s.io/v1"
    cluster.plane.api.request("POST", f"{root}/clusterroles", role)
    cluster.plane.api.request("POST", f"{root}/clusterrolebindings", binding)


def _equal(shown: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in wanted.keys() | shown.keys():
        assert shown.get(name) == wanted.get(name), name
