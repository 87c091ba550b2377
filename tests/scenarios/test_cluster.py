"""Scenarios on a real cluster: objects applied by kubectl, statuses written by a running bridge."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.cli.main import run_command
from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.model.types import ALWAYS
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.scenarios.cases import POLICY_NAMESPACE, Case, all_cases, policy_maps
from tests.scenarios.checking import Answers, check, refusal
from tests.scenarios.custom_resources import custom_resources, plural_of
from tests.scenarios.judging import Judged, check_judged
from tests.scenarios.requests import command_of, name_of, requests_of

BRIDGE = Path(sys.executable).parent / "bridge"
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
PATIENCE = 300.0  # seconds for the statuses of all scenarios
LOOK_AGAIN = 5.0  # seconds: to look costs OPA seconds, which the statuses that a test waits for would need
FINALIZER = "scenarios.example.com/leaving"  # keeps what is being deleted


@dataclass(slots=True)
class Cluster:
    """The API server with all scenarios applied, and the OPA that a running bridge keeps filled."""

    plane: ControlPlane
    opa_url: str
    effective: list[dict[str, Any]] = field(default_factory=list)  # as last printed
    looked: float = -LOOK_AGAIN  # when that was

    def look(self) -> None:
        """Query all effective policies again, if the last ones are old enough."""
        if time.monotonic() - self.looked >= LOOK_AGAIN:
            self.effective = self.bridge("effective")
            self.looked = time.monotonic()

    def bridge(self, *arguments: str, codes: AbstractSet[int] = frozenset({0})) -> Any:
        """What the command prints of the bridge's OPA, as JSON; it ends with one of `codes`."""
        # Within this process: to start one for each question would take longer than the rest.
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()) as errors:
            code = run_command([*arguments, "--opa", self.opa_url, "-o", "json"])
        assert code in codes, errors.getvalue()
        return json.loads(printed.getvalue())

    def shown(self, obj: Object) -> dict[str, Any]:
        """What the API server has of an object now: its metadata, and over it its status."""
        now: dict[str, dict[str, Any]] = self.plane.api.get(resource_path(obj))
        return now["metadata"] | (now.get("status") or {})

    def report(self, obj: Object) -> None:
        """Write an object's status, as its own controller would."""
        body, path = {"status": obj["status"]}, f"{resource_path(obj)}/status"
        self.plane.api.request("PATCH", path, body, "application/merge-patch+json")


def resource_path(obj: Object) -> str:
    """Where the API server has an object."""
    group, _, version = obj["apiVersion"].rpartition("/")
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    plural = plural_of(obj["kind"])
    namespace = obj["metadata"].get("namespace")
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{place}/{plural}/{obj['metadata']['name']}"


@pytest.fixture(scope="module")
def cluster(
    module_control_plane: ControlPlane, kubectl_path: Path, opa_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    control_plane = module_control_plane
    folder = tmp_path_factory.mktemp("scenarios")
    apply = _applying(Kubectl(kubectl_path, control_plane))
    resources = [yaml.safe_load(file.read_text()) for file in CRDS.glob("*.yaml")]
    resources += [crd for case in all_cases() for crd in custom_resources(case)]
    apply(resources)
    control_plane.api.wait_for_crds({crd["metadata"]["name"] for crd in resources})
    apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": POLICY_NAMESPACE}}])
    apply(policy_maps(all_cases()))
    for wave in _waves(all_cases()):
        apply(wave)
        time.sleep(1.1)  # creationTimestamps have whole seconds
    for obj in [obj for case in all_cases() for obj in case.raw() if "deletionTimestamp" in obj["metadata"]]:
        control_plane.api.request("DELETE", resource_path(obj))
    with (folder / "bridge.log").open("wb") as log:
        environ = {**os.environ, "BRIDGE_OPA": str(opa_path), "BRIDGE_LEASE_NAME": "scenarios"}
        environ["BRIDGE_TYPES"] = ",".join(sorted(_extended_types()))
        command = [str(BRIDGE), "run", "--kubeconfig", str(control_plane.kubeconfig), "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(
            [*command, "--log-format", "json"], stdout=subprocess.DEVNULL, stderr=log, env=environ
        )
        try:
            found = Cluster(control_plane, _opa_url(folder / "bridge.log", process))
            for obj in [obj for case in all_cases() for obj in case.raw() if "status" in obj]:
                found.report(obj)
            yield found
        finally:
            process.terminate()
            assert process.wait(180) == 0, (folder / "bridge.log").read_text()


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_a_scenario_holds_on_a_cluster(case: Case, cluster: Cluster) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            check(case, _answers(case, cluster))
            return
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
            cluster.look()


def _answers(case: Case, cluster: Cluster) -> Answers:
    objects = {str(key_of(obj)): obj for obj in case.objects if obj["metadata"]["name"] not in case.senseless}
    mine = case.policy_kinds
    if not cluster.effective:
        cluster.look()
    shown = {key: cluster.shown(obj) for key, obj in objects.items()}
    statuses = {key: status for key, status in shown.items() if key.rsplit("/", 2)[0] in mine}
    effective = [entry for entry in cluster.effective if case.owns(entry)]
    kinds = {obj["metadata"]["name"]: shown[str(key_of(obj))] for obj in case.raw() if obj["kind"] == "PolicyKind"}
    refused = {name: c for name, status in kinds.items() if (c := refusal(status.get("conditions", [])))}
    by_source = {
        namespace: [entry for entry in cluster.bridge("effective", "--source-namespace", namespace) if case.owns(entry)]
        for namespace in case.sources
    }
    explained = {target: cluster.bridge("explain", target) for target in case.explained}
    requests = {name_of(one): cluster.bridge(*command_of(one), codes={0, 1}) for one in requests_of(case)}
    trees = {root: cluster.bridge("tree", root) for root in case.trees}
    return Answers(effective, statuses, shown, refused, by_source, explained, requests, trees)


@pytest.mark.parametrize("case", [case for case in all_cases() if case.constrained], ids=lambda case: case.name)
def test_a_scenario_of_constraints_holds_on_a_cluster(case: Case, cluster: Cluster) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            check_judged(case, _judged(case, cluster))
            return
        except (AssertionError, KeyError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _judged(case: Case, cluster: Cluster) -> Judged:
    """What the statuses of its Constraints say."""
    shown = {
        obj["metadata"]["name"]: cluster.shown(obj)
        for obj in case.objects
        if obj["kind"] == "Constraint" and obj["metadata"]["name"] not in case.senseless
    }
    rows = [
        {
            **row,
            "constraint": name,
            "object": str(Key(row["group"] or "core", row["kind"], row["namespace"] or "-", row["name"])),
        }
        for name, status in shown.items()
        for row in status["violations"]
    ]
    conditions = {name: status["conditions"][0] for name, status in shown.items()}
    refused = {"status": "False", "reason": "Invalid", "message": ""}
    return Judged(rows, conditions | dict.fromkeys(case.senseless, refused))


def _applying(kubectl: Kubectl) -> Callable[[list[Object]], None]:
    def apply(objects: list[Object]) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        kubectl("apply", "--server-side", "-f", "-", text=text)

    return apply


def _extended_types() -> set[str]:
    """The kinds of extension modules and of targets: a cluster's bridge replicates them when it is told to."""
    extending = [case for case in all_cases() if case.modules]
    used = {key.type_id for case in extending for key in case.keys} - set(ALWAYS)
    targeted = {kind for case in all_cases() for kind in case.targeted_kinds}
    return targeted | (used - {kind for case in extending for kind in case.policy_kinds})


def _waves(cases: list[Case]) -> Iterator[list[Object]]:
    """All objects of all cases: first those without an age, namespaces before the rest, then by age.

    Within an age by name: should a second pass meanwhile, those that are first by name are the older ones. What is
    being deleted gets a finalizer, so that it stays when it is deleted.
    """
    by_age: defaultdict[str, list[Object]] = defaultdict(list)
    for case in cases:
        for obj in case.raw():
            if obj["kind"] == "Constraint" and obj["metadata"]["name"] in case.senseless:
                continue
            if obj["metadata"].pop("deletionTimestamp", ""):
                obj["metadata"]["finalizers"] = [FINALIZER]
            age = obj["metadata"].pop("creationTimestamp", "")
            by_age[age].append(obj)
    first = by_age.pop("", [])
    yield [obj for obj in first if obj["kind"] in {"Namespace", "CustomResourceDefinition"}]
    yield [obj for obj in first if obj["kind"] not in {"Namespace", "CustomResourceDefinition"}]
    for age in sorted(by_age):
        yield sorted(by_age[age], key=lambda obj: (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))


def _opa_url(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        events = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        running = [event for event in events if event["event"] == "running"]
        if running and any(event["event"] == "OPA synced" for event in events):
            return str(running[0]["opa"])
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    pytest.fail(f"the bridge did not fill OPA: {log.read_text()}")
