"""What is in deploy/ on a real API server: applied by kubectl, and installed and upgraded by helm."""

from __future__ import annotations

import base64
import copy
from pathlib import Path

import pytest
import yaml

from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.deploy.parts import CHART, ROOT
from tests.deploy.rendering import helm, one

DEPLOY = ROOT / "deploy"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


@pytest.fixture(scope="module")
def applied(plane: ControlPlane, kubectl: Kubectl) -> ControlPlane:
    """The manifests, as a person applies them."""
    for namespace in ("policy-bridge", "opa-policies"):
        kubectl("create", "namespace", namespace)
    kubectl("apply", "-k", DEPLOY / "crds")
    tried = kubectl.run("apply", "--dry-run=server", "-k", DEPLOY / "manifests")
    assert tried.returncode == 0, tried.stderr
    assert "would violate" not in tried.stderr
    kubectl("apply", "-k", DEPLOY / "manifests")
    return plane


def test_applied_twice_the_manifests_change_nothing(applied: ControlPlane, kubectl: Kubectl) -> None:
    again = kubectl("apply", "-k", DEPLOY / "manifests").splitlines()
    assert again
    # kubectl replaces the selector of a PodDisruptionBudget whole, and always says so.
    named = "poddisruptionbudget.policy/policy-bridge configured"
    assert [line for line in again if not line.endswith(" unchanged") and line != named] == []
    budget = applied.api.get("/apis/policy/v1/namespaces/policy-bridge/poddisruptionbudgets/policy-bridge")
    assert budget["metadata"]["generation"] == 1


def test_the_api_server_takes_every_field(applied: ControlPlane, kubectl: Kubectl) -> None:
    """With strict validation a field that no API server knows is an error."""
    kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-k", DEPLOY / "manifests")


def test_the_overlay_is_taken_and_gives_rights_for_its_kinds(applied: ControlPlane, kubectl: Kubectl) -> None:
    objects = list(yaml.safe_load_all(kubectl("kustomize", DEPLOY / "overlays" / "example")))
    kubectl("apply", "--dry-run=server", "-k", DEPLOY / "overlays" / "example")
    deployment = one(objects, "Deployment")["spec"]
    bridge, opa = deployment["template"]["spec"]["containers"]
    assert deployment["replicas"] == 3
    assert bridge["image"] == "registry.example.com/platform/policy-bridge:0.1.0"
    assert opa["resources"]["limits"]["memory"] == "4Gi"
    granted = {resource for rule in one(objects, "ClusterRole")["rules"] for resource in rule["resources"]}
    assert {"colorpolicies", "colorpolicies/status", "services/status"} <= granted


def test_a_pod_meets_the_restricted_standard(applied: ControlPlane) -> None:
    """The namespace enforces it, so the API server would refuse one that does not."""
    namespace = applied.api.get("/api/v1/namespaces/policy-bridge")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    deployment = applied.api.get("/apis/apps/v1/namespaces/policy-bridge/deployments/policy-bridge")
    pod = copy.deepcopy(deployment["spec"]["template"])
    pod["metadata"]["name"] = "tried"
    made = applied.api.request("POST", "/api/v1/namespaces/policy-bridge/pods?dryRun=All", {**pod, "kind": "Pod"})
    assert [container["name"] for container in made["spec"]["containers"]] == ["bridge", "opa"]


def test_an_upgrade_by_helm_leaves_what_the_bridge_keeps(plane: ControlPlane, tmp_path: Path) -> None:
    """Without its failurePolicy and caBundle admission would have a gap until the bridge has put them back."""
    name = "other-policy-bridge"
    place: list[str | Path] = ["--namespace", "other", "--kubeconfig", plane.kubeconfig]
    values = ["--set", "crds.install=false", "--set", "policyNamespaces={team-policies}"]
    helm("install", "other", CHART, "--create-namespace", *place, *values, home=tmp_path)
    before = plane.api.get(f"{CONFIGURATIONS}/{name}")
    assert before["webhooks"][0]["failurePolicy"] == "Ignore"
    authority = base64.b64encode(plane.certificate_authority.read_bytes()).decode()
    kept = [
        {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"},
        {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": authority},
    ]
    plane.api.request("PATCH", f"{CONFIGURATIONS}/{name}", kept, "application/json-patch+json")
    helm("upgrade", "other", CHART, *place, *values, "--set", "replicas=3", home=tmp_path)
    after = plane.api.get(f"{CONFIGURATIONS}/{name}")["webhooks"][0]
    assert after["failurePolicy"] == "Fail"
    assert after["clientConfig"]["caBundle"] == kept[1]["value"]
    deployment = plane.api.get(f"/apis/apps/v1/namespaces/other/deployments/{name}")
    assert deployment["spec"]["replicas"] == 3
    helm("uninstall", "other", *place, home=tmp_path)
    assert plane.api.get("/api/v1/namespaces/team-policies")["metadata"]["name"] == "team-policies"
