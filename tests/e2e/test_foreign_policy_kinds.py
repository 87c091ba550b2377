"""A PolicyKind that calls objects policies which are none: Deployments, Secrets."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import Run
from tests.e2e.serving import Serving, bridge_runs, fetch
from tests.eventually import eventually_blocking
from tests.integration.test_remediator_on_a_cluster import Place, place

pytestmark = pytest.mark.long

__all__ = ["place"]  # the fixture

PATIENCE = 300.0  # seconds
FOREIGN = {"Deployment": "apps", "Secret": "core"}
WORD = "correct-horse-battery-staple"
THEIRS = {"type": "Available", "status": "True"}


@dataclass
class Scene:
    """A Deployment with a status, a Secret, and a policy of a kind that is one, in one namespace."""

    place: Place
    plane: ControlPlane
    kubectl: Kubectl
    log: Path

    def objects(self) -> tuple[Any, Any]:
        """The Deployment and the Secret as they are now."""
        space = self.place.namespace
        get = self.plane.api.get
        return get(f"/apis/apps/v1/namespaces/{space}/deployments/web"), get(f"/api/v1/namespaces/{space}/secrets/word")

    def call_them_policies(self) -> None:
        """Make a PolicyKind in mode Manage for each of the two types."""
        for kind, group in FOREIGN.items():
            spec = {"group": group, "kind": kind, "mode": "Manage", "controllerName": "evil.example/us"}
            spec |= {"effectiveTarget": "Rule", "statusShape": "Conditions"}
            body = {"apiVersion": "policybridge.io/v1alpha1", "kind": "PolicyKind", "spec": spec}
            self.plane.api.apply(_policy_kind(kind), {**body, "metadata": {"name": f"foreign-{kind.lower()}"}})

    def until(self, done: Callable[[], bool]) -> None:
        """Wait until a bridge has done something."""
        eventually_blocking(done, about=self.log.read_text)

    def until_active(self) -> None:
        """Wait until both PolicyKinds are active, and the policy has its status."""
        path = self.place.path("huepolicies", "low")
        for one in (*map(_policy_kind, FOREIGN), path):
            self.until(lambda one=one: '"Accepted"' in json.dumps(self.plane.api.get(one).get("status")))  # type: ignore[misc]


def _policy_kind(kind: str) -> str:
    return f"/apis/policybridge.io/v1alpha1/policykinds/foreign-{kind.lower()}"


def _held(found: Serving, type_id: str) -> str:
    """What OPA holds of a type, as text."""
    return fetch(f"{found.opa_url}/v1/data/objects/{type_id}")[1]


@pytest.fixture
async def scene(place: Place, control_plane: ControlPlane, kubectl_path: Path, tmp_path: Path) -> AsyncIterator[Scene]:
    kubectl, space = Kubectl(kubectl_path, control_plane), ("-n", place.namespace)

    def make() -> None:
        kubectl("create", "deployment", "web", "--image=example.com/web", *space)
        status = json.dumps({"status": {"replicas": 1, "conditions": [THEIRS]}})
        kubectl("patch", "deployment", "web", "--subresource=status", "-p", status, *space)
        kubectl("create", "secret", "generic", "word", f"--from-literal=word={WORD}", *space)

    await asyncio.to_thread(make)
    await place.policy("low", "blue")
    yield Scene(place, control_plane, kubectl, tmp_path / "log")
    for kind in FOREIGN:
        await asyncio.to_thread(control_plane.api.request, "DELETE", _policy_kind(kind))


@pytest.fixture
def account(scene: Scene, bridge: Run, tmp_path: Path) -> tuple[str, ...]:
    """Options for a bridge with the rights that `pbctl admin rbac` prints while all policy kinds are such."""
    space, config = scene.place.namespace, tmp_path / "bridge.yaml"
    config.write_text(f"lease_namespace: {space}\npolicy_namespaces: []\n")
    printed = bridge(
        *("rbac", "--config", config, "--kubeconfig", scene.plane.kubeconfig),
        *("--name", space, "--service-account", f"{space}/bridge"),
    )
    assert printed.returncode == 0, printed.stderr
    scene.kubectl("create", "serviceaccount", "bridge", "-n", space)
    scene.kubectl("apply", "-f", "-", text=printed.stdout)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = scene.plane.api.request("POST", f"/api/v1/namespaces/{space}/serviceaccounts/bridge/token", body)
    kubeconfig = scene.plane.write_kubeconfig(tmp_path / "account", str(made["status"]["token"]))
    return "--config", str(config), "--kubeconfig", str(kubeconfig)


def test_without_rights_for_its_type_nothing_is_read_and_nothing_written(
    scene: Scene, account: tuple[str, ...], bridge_path: Path, environment: dict[str, str]
) -> None:
    before = scene.objects()
    scene.call_them_policies()
    with bridge_runs(bridge_path, environment, scene.log, *account, "--listen=127.0.0.1:0") as found:
        scene.until_active()
        scene.until(lambda: all(f"{group}/{kind}" in scene.log.read_text() for kind, group in FOREIGN.items()))
        assert "forbidden" in scene.log.read_text()
        for kind, group in FOREIGN.items():
            assert "metadata" not in _held(found, f"{group}/{kind}")
        assert scene.objects() == before


def test_with_all_permissions_only_one_condition_is_written_beside_those_of_others(
    scene: Scene, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    deployment, secret = scene.objects()
    scene.call_them_policies()
    (tmp_path / "bridge.yaml").write_text(f"lease_namespace: {scene.place.namespace}\n")
    options = ("--config", tmp_path / "bridge.yaml", "--kubeconfig", scene.plane.kubeconfig, "--listen=127.0.0.1:0")
    with bridge_runs(bridge_path, environment, scene.log, *options) as found:
        scene.until_active()
        scene.until(lambda: len(scene.objects()[0]["status"]["conditions"]) > 1)
        assert "metadata" in _held(found, "core/Secret")
        assert "data" not in json.loads(_held(found, "core/Secret"))["result"][scene.place.namespace]["word"]
    after, same = scene.objects()
    assert same == secret
    theirs, ours = after["status"].pop("conditions")
    assert (theirs["type"], ours["type"], ours["reason"]) == ("Available", "Accepted", "Invalid")
    assert deployment["status"].pop("conditions") == [theirs]
    for shown in (deployment, after):
        for moving in ("resourceVersion", "managedFields"):
            del shown["metadata"][moving]
    assert after == deployment
