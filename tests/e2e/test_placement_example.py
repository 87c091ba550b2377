"""The example of placement on a real API server: `pbctl run` as a user starts it, and kubectl."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ROOT, Run
from tests.e2e.serving import bridge_starts
from tests.eventually import eventually_blocking
from tests.ports import free_address

pytestmark = pytest.mark.long

EXAMPLE = ROOT / "examples" / "placement"
PREFERENCES = "federation.kubernetes.io/replica-set-preferences"
PATIENCE = 300.0  # seconds


@dataclass
class Fleet:
    """A control plane with the example, and a bridge that places."""

    plane: ControlPlane
    kubectl_path: Path
    log: Path

    def kubectl(self, *arguments: str, text: str = "") -> str:
        """What kubectl says, errors too."""
        answer = Kubectl(self.kubectl_path, self.plane).run(*arguments, text=text)
        return answer.stdout + answer.stderr

    def placed(self, name: str) -> list[str]:
        """The clusters that a Deployment is placed on."""
        deployment = json.loads(self.kubectl("get", "deployment", "-n", "shop", name, "-o", "json"))
        return sorted(
            json.loads(deployment["metadata"]["annotations"].get(PREFERENCES, '{"clusters": {}}'))["clusters"]
        )

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition."""
        eventually_blocking(condition, about=self.log.read_text)

    def until_placed(self, name: str, *clusters: str) -> None:
        """Wait until a Deployment is placed there."""
        self.until(lambda: self.placed(name) == sorted(clusters))


@pytest.fixture
def fleet(
    own_control_plane: ControlPlane,
    kubectl_path: Path,
    bridge: Run,
    bridge_path: Path,
    environment: dict[str, str],
    tmp_path: Path,
) -> Iterator[Fleet]:
    address = free_address()
    found = Fleet(own_control_plane, kubectl_path, tmp_path / "log")
    for name in ("00-namespaces", "10-cluster-crd"):
        found.kubectl("apply", "-f", str(EXAMPLE / f"{name}.yaml"))
    own_control_plane.api.wait_for_crds({"clusters.placement.example.com"})
    url = f"https://{address}/admission"
    configuration = bridge("webhook-config", "--url", url, "--resource", "deployments.apps").stdout
    settings = ROOT / "examples" / "placement-settings.yaml"
    options = [f"--kubeconfig={own_control_plane.kubeconfig}", "--listen=127.0.0.1:0", f"--config={settings}"]
    options += [f"--webhook-listen={address}"]
    with bridge_starts(bridge_path, environment, found.log, *options, BRIDGE_WEBHOOK_URL=url) as process:
        found.kubectl("apply", "-f", "-", text=configuration)
        # Workloads are rejected until the policy, which is applied with them, is active.
        found.until(lambda: "denied" not in found.kubectl("apply", "-f", str(EXAMPLE)))
        yield found
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_the_example_is_placed_when_it_is_made_and_moves_with_clusters_its_annotations_and_the_policy(
    fleet: Fleet,
) -> None:
    fleet.until_placed("checkout", "gce-europe-west1", "gce-europe-west2")
    fleet.until_placed("ledger", "gce-europe-west1", "gce-us-central1")
    assert fleet.placed("catalog") == []

    # At creation, by the webhook: kubectl sees it in the API server's answer.
    requested = "policy.federation.alpha.kubernetes.io/eu-jurisdiction-required"
    workload = yaml.safe_load((EXAMPLE / "30-workloads.yaml").read_text().split("---")[0])
    workload["metadata"] = {"name": "made", "namespace": "shop", "annotations": {requested: "true"}}

    def made_placed() -> bool:
        said = json.loads(
            fleet.kubectl("create", "-f", "-", "--dry-run=server", "-o", "json", text=json.dumps(workload))
        )
        return PREFERENCES in said["metadata"]["annotations"]

    fleet.until(made_placed)

    fleet.kubectl(
        "patch", "cluster.placement.example.com", "gce-europe-west2", "--type=merge", '-p={"spec":{"pciLevel":3}}'
    )
    fleet.until_placed("checkout", "gce-europe-west1")

    fleet.kubectl("annotate", "deployment", "-n", "shop", "ledger", f"{requested}=true")
    fleet.until_placed("ledger", "gce-europe-west1")

    fleet.kubectl(
        "patch", "cluster.placement.example.com", "gce-europe-west1", "--type=merge", '-p={"spec":{"pciLevel":4}}'
    )
    fleet.until(
        lambda: (
            "no cluster has what this workload asks for"
            in fleet.kubectl("describe", "deployment", "-n", "shop", "checkout")
        )
    )
    assert fleet.placed("checkout") == ["gce-europe-west1"]
    assert fleet.log.read_text().count("object not placed") == 2  # checkout and ledger, once each

    policy = yaml.safe_load((EXAMPLE / "20-policy.yaml").read_text())
    policy["data"]["placement.rego"] = policy["data"]["placement.rego"].replace('.region != "eu"', '.region != "us"')
    fleet.kubectl("apply", "-f", "-", text=json.dumps(policy))
    fleet.until_placed("checkout", "gce-us-central1")
    policy["data"]["placement.rego"] += "\nbroken {"
    fleet.kubectl("apply", "-f", "-", text=json.dumps(policy))
    fleet.kubectl(
        "annotate",
        "deployment",
        "-n",
        "shop",
        "catalog",
        "policy.federation.alpha.kubernetes.io/clusters=gce-us-central1",
    )
    fleet.until_placed("catalog", "gce-us-central1")  # by the last good version
