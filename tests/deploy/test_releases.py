"""Releases of the chart on a real API server, by the commands that the documentation names."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hack.manifests.parts import CHART, ROOT, HelmError, helm
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.long

PAGE = ROOT / "docs" / "how-to" / "install-on-a-cluster.md"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/policy-bridge"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEPLOYMENT = "/apis/apps/v1/namespaces/policy-bridge/deployments/policy-bridge"
OWN_CRDS = {"constraints.policybridge.io", "policykinds.policybridge.io", "regopolicies.policybridge.io"}
OLD_OPA = "1.21.0-static"


class Release:
    """Runs helm as the page has it: its `deploy/chart` is `chart`."""

    def __init__(self, plane: ControlPlane, home: Path) -> None:
        self.plane = plane
        self.home = home

    def __call__(self, command: str, *more: str, chart: Path = CHART) -> str:
        """What a command prints. Raises HelmError."""
        program, *arguments = shlex.split(command, comments=True)
        assert program == "helm"
        words = [str(chart) if word == "deploy/chart" else word for word in arguments]
        return helm(*words, *more, "--kubeconfig", self.plane.kubeconfig, home=self.home)

    def opa_image(self) -> str:
        """The image of OPA that Pods are to have."""
        return str(self.plane.api.get(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][1]["image"])

    def keep(self) -> str:
        """Do to the webhook configuration what a bridge does when there are policies; gives the caBundle."""
        patch = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}]
        where = f"{CONFIGURATION}?fieldManager=policy-bridge"
        self.plane.api.request("PATCH", where, patch, "application/json-patch+json")
        return str(self.kept()[1])

    def kept(self) -> tuple[str, str | None]:
        """What a configuration says now: failurePolicy and caBundle."""
        webhook = self.plane.api.get(CONFIGURATION)["webhooks"][0]
        return webhook["failurePolicy"], webhook["clientConfig"].get("caBundle")


@pytest.fixture
def release(plane: ControlPlane, tmp_path: Path) -> Iterator[Release]:
    """Nothing is installed yet, nor afterwards."""
    made = Release(plane, tmp_path)
    yield made
    made("helm uninstall policy-bridge -n policy-bridge --ignore-not-found")
    plane.api.delete_crds(OWN_CRDS)


def test_an_upgrade_keeps_ones_values_and_takes_the_new_charts(release: Release, tmp_path: Path) -> None:
    release(_documented("helm install"), "--set", "replicas=3", chart=_earlier(tmp_path))
    assert release.opa_image().endswith(OLD_OPA)
    release(_documented("helm upgrade"))
    assert not release.opa_image().endswith(OLD_OPA), "a default of the chart before"
    deployment = release.plane.api.get(DEPLOYMENT)["spec"]
    assert deployment["replicas"] == 3
    image = deployment["template"]["spec"]["containers"][0]["image"]
    assert image.startswith("registry.example.com/platform/policy-bridge:")


def test_a_rollback_to_before_there_were_policies_needs_the_documented_flag(release: Release, tmp_path: Path) -> None:
    release(_documented("helm install"), chart=_earlier(tmp_path))
    authority = release.keep()
    release(_documented("helm upgrade"))
    assert release.kept() == ("Fail", authority)
    back = _documented("helm rollback").replace("REVISION", "1")
    with pytest.raises(HelmError, match='conflict with "policy-bridge"'):
        release(back.replace("--force-conflicts", ""))
    assert release.kept() == ("Fail", authority)
    assert release.opa_image().endswith(OLD_OPA), "on the page, the Deployment is rolled back before this step"
    release(back)
    assert release.opa_image().endswith(OLD_OPA)
    assert release.kept() == ("Ignore", authority), "until the bridge puts it back it is reached, and decides"


def test_crds_come_with_the_chart_and_stay(release: Release) -> None:
    release(_documented("helm install"))
    release("helm uninstall policy-bridge -n policy-bridge")
    assert _crds(release) == OWN_CRDS


def test_crds_that_are_there_are_left_out_or_taken_over(release: Release, kubectl: Kubectl) -> None:
    kubectl("apply", "-f", ROOT / "deploy" / "crds")
    with pytest.raises(HelmError, match="invalid ownership metadata"):
        release(_documented("helm install"))
    release(_documented("helm install"), "--set", "crds.install=false")
    release(_documented("helm upgrade"), "--set", "crds.install=true", "--take-ownership")
    crd = release.plane.api.get(f"{CRDS}/constraints.policybridge.io")
    assert crd["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"


def test_a_namespace_of_policies_that_is_there_is_left_alone_or_taken_over(release: Release, kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "team-policies")
    theirs = ["--set", "policyNamespaces={team-policies}"]
    with pytest.raises(HelmError, match="invalid ownership metadata"):
        release(_documented("helm install"), *theirs)
    release(_documented("helm install"), *theirs, "--set", "createPolicyNamespaces=false")
    release(_documented("helm upgrade"), *theirs, "--set", "createPolicyNamespaces=true", "--take-ownership")
    namespace = release.plane.api.get("/api/v1/namespaces/team-policies")
    assert namespace["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"


def _crds(release: Release) -> set[str]:
    listed: dict[str, Any] = release.plane.api.get(CRDS)
    return {crd["metadata"]["name"] for crd in listed["items"]}


def _earlier(tmp_path: Path) -> Path:
    """The chart as a version before it might have been."""
    chart = tmp_path / "earlier"
    shutil.copytree(CHART, chart)
    values = chart / "values.yaml"
    text = values.read_text()
    (tag,) = re.findall(r"^    tag: (\S+-static)$", text, re.MULTILINE)
    values.write_text(text.replace(tag, OLD_OPA).replace("topologySpreadConstraints: []\n", ""))
    return chart


def _documented(beginning: str) -> str:
    """The page's command with this beginning, without its file."""
    text = PAGE.read_text().replace("\\\n", " ")
    found = re.findall(rf"^    ({beginning} policy-bridge [^\n]*)$", text, re.MULTILINE)
    (command,) = [one for one in found if " -f " not in one]
    return str(command)
