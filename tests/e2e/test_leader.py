"""Two bridges on one API server: one writes, and never both, whatever becomes of them. Its audit log is the witness."""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.audit_log import audited_plane, lease_reads, without_the_lease, writes
from tests.e2e.conftest import ROOT
from tests.e2e.serving import Serving, bridge_runs
from tests.eventually import eventually_blocking
from tests.freezing import freeze

pytestmark = pytest.mark.long

USERS = ("bridge-a", "bridge-b")
# At the Lease, which lasts 10 s and is read every second: a bound that does not depend on the speed of the machine.
LOOKS = 20
# What a holder writes: statuses, marks, placement, Constraints' statuses, and what authors are reported.
WRITTEN = {
    "colorpolicies/status",
    "httproutes/status",
    "deployments",
    "constraints/status",
    "configmaps",
    "regopolicies/status",
}
SETTINGS = """
types: [placement.example.com/Cluster, core/Pod]
placement:
- {type: apps/Deployment, mode: Write}
"""
REGO_POLICY = """
apiVersion: policybridge.io/v1alpha1
kind: RegoPolicy
metadata: {name: greeting}
spec:
  modules:
    greeting.rego: "package greeting\\nhello := 1\\n"
"""


@dataclass
class Bridge:
    """A `pbctl run` of its own user, with an OPA of its own."""

    user: str
    serving: Serving
    log: Path

    def ask(self, path: str, document: object) -> Any:
        """What its OPA answers."""
        body = json.dumps({"input": document}).encode()
        url = f"{self.serving.opa_url}/v1/data/{path}"
        with urllib.request.urlopen(url, data=body, timeout=180) as answer:  # noqa: S310
            return json.load(answer).get("result")


@dataclass
class Scene:
    """The API server, and what changes there all the time."""

    plane: ControlPlane
    audit: Path
    bridges: dict[str, Bridge]
    changes: Changes

    def holder(self) -> str:
        """Whose bridge wrote the Lease last."""
        return [
            write.user for write in writes(self.audit, set(USERS)) if write.resource == "leases" and write.status < 300
        ][-1]

    def current(self) -> tuple[Bridge, Bridge]:
        """The bridge that wrote the Lease last, and the other one."""
        holder = self.holder()
        return self.bridges[holder], next(one for one in self.bridges.values() if one.user != holder)

    def written_since(self, user: str, when: float) -> set[str]:
        """What a user wrote after a moment, successfully."""
        found, _ = without_the_lease(self.audit, {user})
        return {write.resource for write in found if write.came > when and write.status < 300}

    def until(self, happened: Callable[[], bool], what: str) -> None:
        """Wait for something."""
        logs = (f"{one.user}: {one.log.read_text()[-3000:]}" for one in self.bridges.values())
        eventually_blocking(happened, about=lambda: "\n".join([what, *logs]))


class Changes:
    """Changes objects so that there is something to write all the time, in every place where bridges write."""

    def __init__(self, plane: ControlPlane) -> None:
        self.rounds = 0
        self._plane = plane
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self) -> None:
        """End, and wait for that."""
        self._ended.set()
        self._thread.join(timeout=60)

    def _run(self) -> None:
        for self.rounds in itertools.count():
            odd = bool(self.rounds % 2)
            targets = "storefront" if odd else "nowhere"
            for path, patch in (
                (
                    "/apis/example.com/v1/namespaces/shop/colorpolicies/storefront",
                    {
                        "spec": {
                            "targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": targets}]
                        }
                    },
                ),
                (
                    "/apis/apps/v1/namespaces/shop/deployments/checkout",
                    {
                        "metadata": {
                            "annotations": {
                                "policy.federation.alpha.kubernetes.io/pci-compliance-level": "1" if odd else "2"
                            }
                        }
                    },
                ),
                (
                    "/apis/policybridge.io/v1alpha1/constraints/memory-limits",
                    {"spec": {"parameters": {"limit": "1Mi" if odd else "64Gi"}}},
                ),
                (
                    "/api/v1/namespaces/opa-policies/configmaps/changing",
                    {"data": {"changing.rego": f"package changing\nx := {'1' if odd else '('}\n"}},
                ),
                (
                    "/apis/policybridge.io/v1alpha1/regopolicies/greeting",
                    {"spec": {"modules": {"greeting.rego": f"package greeting\nhello := {'1' if odd else '('}\n"}}},
                ),
            ):
                self._plane.api.merge(path, patch)
            if self._ended.wait(0.7):
                return


@pytest.fixture
def scene(
    tmp_path: Path, gateway_api_crds: Path, kubectl_path: Path, bridge_path: Path, environment: dict[str, str]
) -> Iterator[Scene]:
    with audited_plane(tmp_path, USERS, gateway_api_crds / "experimental") as plane, ExitStack() as stack:
        _apply_examples(Kubectl(kubectl_path, plane), plane)
        (tmp_path / "settings.yaml").write_text(SETTINGS)
        bridges: dict[str, Bridge] = {}
        scene = Scene(plane, tmp_path / "audit.log", bridges, Changes(plane))
        for user in USERS:
            kubeconfig = plane.write_kubeconfig(tmp_path / f"{user}.kubeconfig", f"token-of-{user}")
            log = tmp_path / f"{user}.log"
            options = (f"--kubeconfig={kubeconfig}", "--listen=127.0.0.1:0", f"--config={tmp_path}/settings.yaml")
            serving = stack.enter_context(bridge_runs(bridge_path, environment, log, *options))
            bridges[user] = Bridge(user, serving, log)
        stack.callback(scene.changes.end)
        scene.changes.start()
        yield scene


def test_one_writes_and_never_both_when_the_holder_freezes_and_when_it_is_killed(scene: Scene) -> None:
    """On a busy machine the Lease may pass at any time, which is right too."""
    start = time.time()
    scene.until(
        lambda: scene.written_since(scene.holder(), start) >= WRITTEN, f"the holder does not write all of {WRITTEN}"
    )
    for user in USERS:
        _follows(scene, scene.bridges[user])

    # The process freezes, as a machine can, for longer than the Lease; then it continues.
    first, second = _freeze_the_holder(scene)
    frozen = time.time()
    scene.until(
        lambda: scene.written_since(second.user, frozen) >= WRITTEN, "the other does not continue with everything"
    )
    os.kill(first.serving.process.pid, signal.SIGCONT)
    _follows(scene, first)

    # The holder is killed.
    third, fourth = scene.current()
    os.kill(third.serving.process.pid, signal.SIGKILL)
    killed = time.time()
    _follows(scene, fourth)
    scene.until(lambda: scene.written_since(fourth.user, killed) >= WRITTEN, "no bridge continues with everything")
    scene.changes.end()

    _, wrong = without_the_lease(scene.audit, set(USERS))
    assert wrong == [], "a bridge without the Lease wrote"
    looks = {
        "after a freeze": lease_reads(scene.audit, second.user, frozen),
        "after a kill": lease_reads(scene.audit, fourth.user, killed),
    }
    assert max(looks.values()) < LOOKS, looks


def _freeze_the_holder(scene: Scene) -> tuple[Bridge, Bridge]:
    """Freeze the bridge that holds the Lease; return it and the other one."""
    while True:
        holder, other = scene.current()
        freeze(holder.serving.process.pid)
        if scene.holder() == holder.user:
            return holder, other
        os.kill(holder.serving.process.pid, signal.SIGCONT)


def _follows(scene: Scene, bridge: Bridge) -> None:
    """Wait until a bridge's OPA has what is made just now, and answers of it."""
    name = f"made-at-{time.time_ns()}"
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
    scene.plane.api.request("POST", "/api/v1/namespaces/shop/services", body)
    query_input = {"targets": [f"core/Service/shop/{name}"]}

    def has_it() -> bool:
        try:
            held = bridge.ask(f"objects/core/Service/shop/{name}", {})
        except urllib.error.URLError:
            return False  # a bridge that was frozen may find its OPA silent, and start it again
        return held is not None and isinstance(bridge.ask("bridge/v1/effective", query_input), list)

    scene.until(has_it, f"the OPA of {bridge.user} does not follow")


def _apply_examples(kubectl: Kubectl, plane: ControlPlane) -> None:
    folders = [ROOT / "deploy" / "crds", *(ROOT / "examples" / name for name in ("shop", "placement", "constraints"))]
    files = [file for folder in folders for file in sorted(folder.glob("*.yaml"))]
    first = [
        file for file in files if "kind: CustomResourceDefinition" in file.read_text() or "namespaces" in file.name
    ]
    for batch in (first, [file for file in files if file not in first]):
        for _ in range(3):  # a namespace that comes with its objects may be late
            answer = kubectl.run("apply", *(f"--filename={file}" for file in batch))
            if not answer.returncode:
                break
            time.sleep(1)
        assert not answer.returncode, answer.stderr
        plane.api.wait_for_crds(
            {"policykinds.policybridge.io", "colorpolicies.example.com", "clusters.placement.example.com"}
        )
    kubectl("apply", "--filename=-", text=REGO_POLICY)
    changing = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "changing", "labels": {"openpolicyagent.org/policy": "rego"}},
        "data": {"changing.rego": "package changing\nx := 1\n"},
    }
    plane.api.request("POST", "/api/v1/namespaces/opa-policies/configmaps", changing)
