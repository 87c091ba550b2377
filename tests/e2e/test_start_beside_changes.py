"""A bridge that starts while CRDs, policy kinds, objects and policies are applied writes all their statuses."""

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ROOT, SHOP
from tests.eventually import equal_to, eventually_blocking

pytestmark = pytest.mark.long

STATUSES = {
    ("infra", "colorpolicies", "accessibility"): {"Accepted": "Accepted", "Programmed": "Programmed"},
    ("blog", "colorpolicies", "posts-contrast"): {"Accepted": "Accepted", "Programmed": "Overridden"},
    ("shop", "timeoutpolicies", "catalog-metrics"): {"Accepted": "Accepted", "Programmed": "Programmed"},
}
Start = Callable[[int], None]


POLICIES = "/apis/example.com/v1/namespaces/{}/{}/{}"
KINDS = {"colorpolicies", "timeoutpolicies"}


def _conditions(obj: dict[str, Any]) -> dict[str, str]:
    status = obj.get("status", {})
    groups = [entry["conditions"] for entry in status.get("ancestors", [])] or [status.get("conditions", [])]
    return {condition["type"]: condition["reason"] for condition in groups[0]}


def wait_for(plane: ControlPlane, place: tuple[str, str, str], wanted: dict[str, str], log: Path) -> None:
    """Wait until a policy's conditions have these reasons."""
    path = POLICIES.format(*place)
    eventually_blocking(lambda: _conditions(plane.api.get(path)), equal_to(wanted), about=log.read_text)


@pytest.fixture
def start(
    bare_control_plane: ControlPlane,
    gateway_api_crds: Path,
    kubectl_path: Path,
    bridge_path: Path,
    environment: dict[str, str],
    tmp_path: Path,
) -> Start:
    """A function that starts a bridge beside `kubectl apply`, with waits by a seed, and waits for the statuses."""
    plane, kubectl = bare_control_plane, Kubectl(kubectl_path, bare_control_plane)
    command = [str(bridge_path), "run", "--kubeconfig", str(plane.kubeconfig), "--listen", "127.0.0.1:0"]

    def apply(*files: Path) -> None:
        kubectl("apply", "--server-side", *(f"--filename={file}" for file in files))

    def run(seed: int) -> None:
        chance = random.Random(seed)
        crds = sorted([*SHOP.glob("*-crd.yaml"), ROOT / "deploy/crds/policykinds.yaml"])
        kinds = sorted(SHOP.glob("*-kind.yaml"))
        objects = [file for file in sorted(SHOP.glob("*.yaml")) if file not in {*crds, *kinds}]
        late = chance.sample([*kinds, *objects[-9:]], 4)
        with (tmp_path / "log").open("w") as log:

            def begin() -> subprocess.Popen[bytes]:
                return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=environment)

            processes = [begin()] if chance.random() < 0.5 else []  # whether the bridge is there before the CRDs
            try:
                apply(gateway_api_crds / "experimental", *crds)
                processes = processes or [begin()]
                time.sleep(chance.random() * 2)
                plane.api.wait_for_crds({"policykinds.policybridge.io", *(f"{kind}.example.com" for kind in KINDS)})
                apply(*(file for file in [*objects[:1], *kinds, *objects[1:]] if file not in late))
                time.sleep(chance.random())
                if chance.random() < 0.5:
                    plane.restart_api_server()
                apply(*late)
                if chance.random() < 0.3:
                    plane.restart_api_server()
                for place, conditions in STATUSES.items():
                    wait_for(plane, place, conditions, tmp_path / "log")
            finally:
                for process in processes:
                    process.terminate()
                    process.wait()

    return run


@pytest.mark.parametrize("seed", range(3))
def test_statuses_appear_whatever_is_applied_during_the_start(seed: int, start: Start) -> None:
    start(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, 20))
def test_statuses_appear_after_more_starts(seed: int, start: Start) -> None:
    start(seed)
