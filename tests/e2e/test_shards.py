"""Bridges that share shards on one API server: one is killed, one comes. The API server's audit log is the witness."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bridge.kube.shards import shard_of
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.audit_log import POLICY, audited_plane, beside_the_shards
from tests.e2e.conftest import ROOT
from tests.e2e.serving import bridge_runs
from tests.eventually import eventually_blocking

pytestmark = pytest.mark.long

USERS = ("bridge-a", "bridge-b", "bridge-c")
SHARDS = 4
LEASES = ["policy-bridge", *(f"policy-bridge-{shard}" for shard in range(1, SHARDS))]
# Two namespaces in each shard.
TEAMS = sorted(
    name
    for shard in range(SHARDS)
    for name in itertools.islice((f"team-{n}" for n in range(100) if shard_of(f"team-{n}", SHARDS) == shard), 2)
)
GATEWAYS = 17  # one more than the entries of a policy's status
# The policy is in one shard, and the Gateways that its status omits are in another one.
FULL, EDGE = (next(name for name in TEAMS if shard_of(name, SHARDS) == shard) for shard in (1, 2))
SHOP = ROOT / "examples" / "shop"
TEAM = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: web, namespace: {team}}}
spec: {{gatewayClassName: none, listeners: [{{name: web, port: 80, protocol: HTTP}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: shop, namespace: {team}}}
spec: {{parentRefs: [{{name: web}}], rules: [{{name: all}}]}}
---
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {{name: shop, namespace: {team}}}
spec:
  targetRefs: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}}]
  colors: {{accent: orange}}
---
"""
EDGES = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: edge-{number:02}, namespace: {edge}}}
spec:
  gatewayClassName: none
  listeners: [{{name: web, port: 80, protocol: HTTP, allowedRoutes: {{namespaces: {{from: All}}}}}}]
---
"""
BELOW = f"""
apiVersion: v1
kind: Service
metadata: {{name: cart, namespace: {FULL}}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: cart, namespace: {FULL}}}
spec:
  parentRefs: [{", ".join(f"{{name: edge-{number:02}, namespace: {EDGE}}}" for number in range(GATEWAYS))}]
  rules: [{{backendRefs: [{{name: cart, port: 80}}]}}]
---
apiVersion: example.com/v1
kind: TimeoutPolicy
metadata: {{name: cart, namespace: {FULL}}}
spec: {{targetRefs: [{{group: "", kind: Service, name: cart}}], request: 5s}}
"""


@dataclass
class Scene:
    """The API server, and the bridges on it by user."""

    plane: ControlPlane
    bridge_path: Path
    environment: dict[str, str]
    folder: Path
    stack: ExitStack
    processes: dict[str, int] = field(default_factory=dict)

    @property
    def identities(self) -> dict[str, str]:
        """The bridges' names in Leases."""
        return {user: f"{socket.gethostname()}-{process}" for user, process in self.processes.items()}

    def start(self, user: str) -> None:
        """Start a bridge."""
        kubeconfig = self.plane.write_kubeconfig(self.folder / f"{user}.kubeconfig", f"token-of-{user}")
        options = (f"--kubeconfig={kubeconfig}", "--listen=127.0.0.1:0", f"--shards={SHARDS}")
        log = self.folder / f"{user}.log"
        serving = self.stack.enter_context(bridge_runs(self.bridge_path, self.environment, log, *options))
        self.processes[user] = serving.process.pid

    def parts(self) -> Counter[str]:
        """How many Leases name each holder."""
        users = {identity: user for user, identity in self.identities.items()}
        path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        found = (self.plane.api.get(f"{path}/{name}")["spec"].get("holderIdentity", "") for name in LEASES)
        return Counter(users.get(holder, holder) for holder in found)

    def until_shared(self, **parts: int) -> None:
        """Wait until bridges hold these numbers of Leases."""
        wanted = {f"bridge-{name}": number for name, number in parts.items()}
        eventually_blocking(self.parts, lambda found: dict(found) == wanted, about=self.logs)

    def logs(self) -> str:
        """The ends of the bridges' logs."""
        return "\n".join(f"{user}: {(self.folder / f'{user}.log').read_text()[-3000:]}" for user in self.processes)

    def policy(self, team: str) -> Any:
        """A team's policy."""
        return self.plane.api.get(f"/apis/example.com/v1/namespaces/{team}/colorpolicies/shop")


class Changes:
    """Changes every team's policy again and again."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End, and wait for that."""
        self._ended.set()
        self._thread.join(timeout=60)

    def _run(self) -> None:
        for number in itertools.count():
            for team in TEAMS:
                path = f"/apis/example.com/v1/namespaces/{team}/colorpolicies/shop"
                self._plane.api.merge(path, {"spec": {"colors": {"accent": f"#{number:06x}"}}})
            if self._ended.wait(0.3):
                return


@pytest.fixture
def scene(
    tmp_path: Path, gateway_api_crds: Path, kubectl_path: Path, bridge_path: Path, environment: dict[str, str]
) -> Iterator[Scene]:
    statuses = "- level: Request\n  verbs: [patch]\n  resources: [{group: example.com}]\n- level: Metadata"
    policy = POLICY.replace("- level: Metadata", statuses, 1)
    with audited_plane(tmp_path, USERS, gateway_api_crds / "experimental", policy) as plane, ExitStack() as stack:
        kubectl = Kubectl(kubectl_path, plane)
        crds = [*sorted((ROOT / "deploy" / "crds").glob("*.yaml")), *sorted(SHOP.glob("*-crd.yaml"))]
        kubectl("apply", *(f"--filename={file}" for file in crds))
        plane.api.wait_for_crds(
            {"policykinds.policybridge.io", "colorpolicies.example.com", "timeoutpolicies.example.com"}
        )
        kinds = "---\n".join(file.read_text() for file in sorted(SHOP.glob("*-kind.yaml")))
        for team in TEAMS:
            kubectl("create", "namespace", team)
        edges = (EDGES.format(number=number, edge=EDGE) for number in range(GATEWAYS))
        objects = [*(TEAM.format(team=team) for team in TEAMS), *edges, BELOW]
        kubectl("apply", "--filename=-", text=kinds.replace("ancestorLevel: Target", "ancestorLevel: Gateway"))
        kubectl("apply", "--filename=-", text="".join(objects))
        yield Scene(plane, bridge_path, environment, tmp_path, stack)


def test_bridges_share_the_writes_and_never_write_the_same_shard_or_an_older_status(scene: Scene) -> None:
    scene.start("bridge-a")
    scene.until_shared(a=4)
    changes = Changes(scene.plane)
    scene.stack.callback(changes.end)
    scene.start("bridge-b")
    scene.until_shared(a=2, b=2)
    os.kill(scene.processes["bridge-a"], signal.SIGKILL)
    scene.until_shared(b=4)
    scene.start("bridge-c")
    scene.until_shared(b=2, c=2)
    changes.end()
    _all_have_their_status(scene)

    log = scene.folder / "audit.log"
    found, wrong = beside_the_shards(
        log, scene.identities, lambda namespace: LEASES[shard_of(namespace, SHARDS) if namespace != "-" else 0]
    )
    assert wrong == [], "a bridge wrote in a shard that it does not hold"
    assert {write.user for write in found if write.status < 300} == set(USERS)
    written: defaultdict[str, list[int]] = defaultdict(list)
    for write in sorted(found, key=lambda one: one.answered):
        if write.resource == "colorpolicies/status" and write.status < 300:
            written[write.namespace] += {one["observedGeneration"] for one in write.body["status"]["conditions"]}
    assert written.keys() == set(TEAMS)
    for team, generations in written.items():
        assert generations == sorted(generations), f"a status of {team} moved backwards"


def test_what_a_full_status_omits_is_reported_in_another_shard(scene: Scene) -> None:
    for user in USERS[:2]:
        scene.start(user)
    scene.until_shared(a=2, b=2)
    _all_have_their_status(scene)

    def omitted() -> list[str]:
        found = scene.plane.api.get(f"/apis/gateway.networking.k8s.io/v1/namespaces/{EDGE}/gateways")["items"]
        return [
            one["metadata"]["name"]
            for one in found
            if any(shown["reason"] == "AncestorsFull" for shown in one["status"].get("conditions", []))
        ]

    assert eventually_blocking(omitted, about=scene.logs) == ["edge-16"]


def _all_have_their_status(scene: Scene) -> None:
    def missing() -> list[str]:
        found = {team: scene.policy(team) for team in TEAMS}
        return [
            team
            for team, policy in found.items()
            if {one["observedGeneration"] for one in policy.get("status", {}).get("conditions", [])}
            != {policy["metadata"]["generation"]}
        ]

    eventually_blocking(missing, lambda teams: not teams, about=scene.logs)
