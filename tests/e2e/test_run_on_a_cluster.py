"""`bridge run` on a cluster: the example is applied with kubectl, and its statuses appear in the API."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ROOT, SHOP

pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
POLICIES = "/apis/example.com/v1/namespaces/{}/{}/{}"
KINDS = {"colorpolicies", "timeoutpolicies"}


def _conditions(obj: dict[str, Any]) -> dict[str, str]:
    status = obj.get("status", {})
    groups = [entry["conditions"] for entry in status.get("ancestors", [])] or [status.get("conditions", [])]
    return {condition["type"]: condition["reason"] for condition in groups[0]}


@pytest.fixture
def applied(own_control_plane: ControlPlane, kubectl_path: Path) -> ControlPlane:
    """A control plane with the example."""
    plane = own_control_plane
    kubectl = Kubectl(kubectl_path, plane)
    files = [*sorted((ROOT / "deploy" / "crds").glob("*.yaml")), *sorted(SHOP.glob("*.yaml"))]
    waited_for = {"policykinds.policybridge.io", *(f"{kind}.example.com" for kind in KINDS)}
    crds = [file for file in files if "kind: CustomResourceDefinition" in file.read_text()]
    for batch in (crds, [file for file in files if file not in crds]):
        kubectl("apply", *(f"--filename={file}" for file in batch))
        plane.api.wait_for_crds(waited_for)
    return plane


def test_statuses_appear_and_follow_a_change(
    applied: ControlPlane, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [bridge_path, "run", "--kubeconfig", applied.kubeconfig, "--listen", "127.0.0.1:0"],
            stdout=subprocess.DEVNULL,
            stderr=log,
            env=environment,
        ) as process,
    ):
        try:
            expected = {
                ("blog", "colorpolicies", "posts-contrast"): {"Accepted": "Accepted", "Programmed": "Overridden"},
                ("shop", "colorpolicies", "summer-sale"): {"Accepted": "TargetNotFound"},
                ("shop", "timeoutpolicies", "catalog-metrics"): {"Accepted": "Accepted", "Programmed": "Programmed"},
            }
            for place, conditions in expected.items():
                wait_for(applied, place, conditions, tmp_path / "log")
            applied.api.request("DELETE", POLICIES.format("infra", "colorpolicies", "accessibility"))
            place = ("blog", "colorpolicies", "posts-contrast")
            wait_for(applied, place, {"Accepted": "Accepted", "Programmed": "Programmed"}, tmp_path / "log")
        finally:
            process.terminate()
    assert process.returncode == 0


def wait_for(plane: ControlPlane, place: tuple[str, str, str], wanted: dict[str, str], log: Path) -> None:
    """Wait until a policy's conditions have these reasons."""
    deadline = time.monotonic() + PATIENCE
    while (shown := _conditions(plane.api.get(POLICIES.format(*place)))) != wanted:
        assert time.monotonic() < deadline, f"{place} shows {shown}; the bridge said: {log.read_text()}"
        time.sleep(0.1)
