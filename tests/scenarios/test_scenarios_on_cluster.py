"""Scenarios on a real cluster: objects applied to it, statuses written by a running bridge.

`make test` has the scenarios that a cluster can decide in another way than Rego alone; the others are long.
"""

import json
import os
import re
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.model.types import ALWAYS
from tests.controlplane.api import Session
from tests.controlplane.plane import ControlPlane
from tests.e2e.serving import bridge_runs
from tests.in_process import run_with_opa
from tests.scenarios.cases import POLICY_NAMESPACE, Case, all_cases, policy_maps
from tests.scenarios.checking import Answers, check, refusal
from tests.scenarios.custom_resources import BUILT_IN, custom_resources, plural_of
from tests.scenarios.described_requests import name_of, requests_of
from tests.scenarios.judging import Judged, check_judged

BRIDGE = Path(sys.executable).parent / "pbctl"
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
PATIENCE = 300.0  # seconds for the statuses of all scenarios
LOOK_AGAIN = 20.0  # seconds: to look costs OPA seconds, which the statuses that a test waits for would need
CRD = "CustomResourceDefinition"
STATUS_WORK = re.compile(
    r"^policy_bridge_(?:queue_depth|status_writes_total|opa_request_duration_seconds_count)\{.*(?:status|reports|outcomes|links).*$",
    re.MULTILINE,
)
LONG = pytest.mark.long
FINALIZER = "scenarios.example.com/leaving"  # keeps what is being deleted


def _depends_on_the_api_server(case: Case) -> bool:
    """Whether a scenario has Rego, CRDs, statuses of others or deletions, or outcomes that only a cluster shows."""
    if case.modules or case.refused or case.senseless:
        return True
    if any(obj["kind"] == CRD or "status" in obj or "deletionTimestamp" in obj["metadata"] for obj in case.raw()):
        return True
    statuses = [outcome["status"] for outcome in case.outcomes if "status" in outcome]
    return any("affected" in outcome for outcome in case.outcomes) or any(
        status.keys() & {"ancestor", "ancestors", "none"} or status["Accepted"] == "False/Conflicted"
        for status in statuses
    )


def _marked(cases: Iterable[Case]) -> list[Any]:
    return [pytest.param(case, marks=() if _depends_on_the_api_server(case) else LONG) for case in cases]


@dataclass(slots=True)
class Cluster:
    """The API server with the scenarios of this run applied, and the OPA that a running bridge keeps filled.

    The effective policies and the lists of objects are those of all of them: to query them for each would take long.
    """

    plane: ControlPlane
    session: Session
    opa_url: str
    listed: dict[str, dict[tuple[str, str], Object]] = field(default_factory=dict)  # by path, as last listed
    effective: list[dict[str, Any]] = field(default_factory=list)  # as last printed
    looked: float = -LOOK_AGAIN  # when that was

    def look(self, case: Case) -> None:
        """List a scenario's objects again; query all effective policies again, if the last ones are old enough."""
        for path in {_list_path(obj) for obj in case.objects}:
            self.listed.pop(path, None)
        if time.monotonic() - self.looked >= LOOK_AGAIN:
            self.effective = self.bridge("effective")
            self.looked = time.monotonic()

    def bridge(self, *arguments: str) -> Any:
        """What the command prints of the bridge's OPA, as JSON."""
        answer = run_with_opa(self.opa_url, *arguments, "-o", "json")
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    def query(self, name: str, asked: dict[str, Any]) -> Any:
        """What the bridge's OPA answers. A command would also query the state of all policy kinds, for its warnings."""
        url = f"{self.opa_url}/v1/data/bridge/v1/{name}"
        with urllib.request.urlopen(url, json.dumps({"input": asked}).encode(), PATIENCE) as answer:  # noqa: S310
            return json.loads(answer.read())["result"]

    def shown(self, obj: Object) -> dict[str, Any]:
        """What the API server had of an object when last listed: its metadata, and over it its status."""
        path = _list_path(obj)
        if path not in self.listed:
            self.listed[path] = {_name(one): one for one in self.session.get(path)["items"]}
        now: dict[str, dict[str, Any]] = self.listed[path][_name(obj)]
        return now["metadata"] | (now.get("status") or {})

    def report(self, obj: Object) -> None:
        """Write an object's status, as its own controller would."""
        body, path = {"status": obj["status"]}, f"{resource_path(obj)}/status"
        self.plane.api.merge(path, body)


def resource_path(obj: Object) -> str:
    """Where the API server has an object."""
    namespace = obj["metadata"].get("namespace")
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{_root(obj)}{place}/{plural_of(obj['kind'])}/{obj['metadata']['name']}"


def _list_path(obj: Object) -> str:
    """Where the API server lists the objects of an object's type."""
    return f"{_root(obj)}/{plural_of(obj['kind'])}"


def _root(obj: Object) -> str:
    group, _, version = obj["apiVersion"].rpartition("/")
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _name(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest,
    module_control_plane: ControlPlane,
    opa_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    items = [item for item in request.session.items if isinstance(item, pytest.Function) and item.path == request.path]
    chosen = [item.callspec.params["case"] for item in items]
    cases = [case for case in all_cases() if case in chosen]
    folder = tmp_path_factory.mktemp("scenarios")
    with module_control_plane.api.session() as session:
        _apply_all(session, cases)
        yield from _running(module_control_plane, session, opa_path, folder, cases)


def _apply_all(session: Session, cases: list[Case]) -> None:
    resources = [yaml.safe_load(file.read_text()) for file in CRDS.glob("*.yaml")]
    resources += [crd for case in cases for crd in custom_resources(case)]
    session.map(_apply, [[crd] for crd in resources])
    session.wait_for_crds({crd["metadata"]["name"] for crd in resources})
    _apply(session, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": POLICY_NAMESPACE}}])
    _apply(session, policy_maps(cases))
    for wave in _waves(cases):
        session.map(_apply, wave)
        defined = {obj["metadata"]["name"] for objects in wave for obj in objects if obj["kind"] == CRD}
        session.wait_for_crds(defined)
        time.sleep(1.05 - time.time() % 1)  # until the next second: creationTimestamps have whole seconds
    for obj in [obj for case in cases for obj in case.raw() if "deletionTimestamp" in obj["metadata"]]:
        session.request("DELETE", resource_path(obj))


def _apply(session: Session, objects: Iterable[Object]) -> None:
    for obj in objects:
        session.apply(resource_path(obj), obj)


def _running(
    control_plane: ControlPlane, session: Session, opa_path: Path, folder: Path, cases: list[Case]
) -> Iterator[Cluster]:
    """A bridge at work."""
    environ = {**os.environ, "BRIDGE_OPA": str(opa_path), "BRIDGE_LEASE_NAME": "scenarios"}
    environ["BRIDGE_TYPES"] = ",".join(sorted(_extended_types(cases)))
    environ["BRIDGE_STATUS_WRITES_PER_SECOND"] = "1000"  # with few, OPA is queried for few statuses at once
    environ["GOGC"] = "400"  # OPA collects garbage less often
    options = ("--kubeconfig", control_plane.kubeconfig, "--listen", "127.0.0.1:0")
    with bridge_runs(BRIDGE, environ, folder / "bridge.log", *options) as serving:
        found = Cluster(control_plane, session, serving.opa_url)
        for obj in [obj for case in cases for obj in case.raw() if "status" in obj]:
            found.report(obj)
        _let_settle(serving.url)
        yield found


@pytest.mark.parametrize("case", _marked(all_cases()), ids=lambda case: case.name)
def test_a_scenario_holds_on_a_cluster(case: Case, cluster: Cluster) -> None:
    _until_it_holds(case, cluster, lambda: check(case, _answers(case, cluster)))


def _until_it_holds(case: Case, cluster: Cluster, check_now: Callable[[], None]) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            check_now()
            return
        except (AssertionError, KeyError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
            cluster.look(case)


def _answers(case: Case, cluster: Cluster) -> Answers:
    objects = {str(key_of(obj)): obj for obj in case.objects if obj["metadata"]["name"] not in case.senseless}
    mine = case.policy_kinds
    if not cluster.effective:
        cluster.look(case)
    shown = {key: cluster.shown(obj) for key, obj in objects.items()}
    statuses = {key: status for key, status in shown.items() if key.rsplit("/", 2)[0] in mine}
    # Nothing is written for kinds in mode Observe: clients query OPA.
    asked = cluster.query("status", {"policies": sorted(statuses), "skipMissing": True})  # some kinds are refused
    statuses |= {entry["policy"]: entry for entry in asked if entry["mode"] == "Observe"}
    effective = [entry for entry in cluster.effective if case.owns(entry)]
    kinds = {obj["metadata"]["name"]: shown[str(key_of(obj))] for obj in case.raw() if obj["kind"] == "PolicyKind"}
    refused = {name: c for name, status in kinds.items() if (c := refusal(status.get("conditions", [])))}
    scopes = {kind: cluster.query("scopes", {"policyKind": kind}).get(kind, []) for kind in mine if case.sources}
    by_source = {
        namespace: [
            entry
            for kind, targets in scopes.items()
            for entry in cluster.query(
                "effective", {"targets": targets, "policyKind": kind, "sourceNamespace": namespace}
            )
            if case.owns(entry)
        ]
        for namespace in case.sources
    }
    explained = {target: cluster.query("explain", {"target": target}) for target in case.explained}
    requests = {name_of(asked): cluster.query("request", asked) for asked in requests_of(case)}
    trees = {root: cluster.query("tree", {"root": root}) for root in case.trees}
    return Answers(effective, statuses, shown, refused, by_source, explained, requests, trees)


@pytest.mark.parametrize("case", [case for case in all_cases() if case.constrained], ids=lambda case: case.name)
def test_a_scenario_of_constraints_holds_on_a_cluster(case: Case, cluster: Cluster) -> None:
    _until_it_holds(case, cluster, lambda: check_judged(case, _judged(case, cluster)))


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


def _extended_types(cases: list[Case]) -> set[str]:
    """The kinds of extension modules and of targets: a cluster's bridge replicates them when it is configured to."""
    extending = [case for case in cases if case.modules]
    used = {key.type_id for case in extending for key in case.keys} - set(ALWAYS)
    targeted = {kind for case in cases for kind in case.targeted_kinds}
    targeted |= {key.type_id for case in cases for key in case.keys if key.group in BUILT_IN}
    return targeted | (used - {kind for case in extending for kind in case.policy_kinds})


def _waves(cases: list[Case]) -> Iterator[list[list[Object]]]:
    """Of each case first its namespaces, then its other objects without an age, then those of each age.

    Each wave has a list of objects for each case, whose objects are made in this order.
    """
    for wave in zip_longest(*map(_ages, cases), fillvalue=[]):
        yield [list(objects) for objects in wave if objects]


def _ages(case: Case) -> list[list[Object]]:
    """The objects of a case: first those without an age, namespaces before the rest, then by age.

    Within an age by name: should a second pass meanwhile, those that are first by name are the older ones. What is
    being deleted gets a finalizer, so that it stays when it is deleted.
    """
    by_age: defaultdict[str, list[Object]] = defaultdict(list)
    for obj in case.raw():
        if obj["kind"] == "Constraint" and obj["metadata"]["name"] in case.senseless:
            continue
        if obj["metadata"].pop("deletionTimestamp", ""):
            obj["metadata"]["finalizers"] = [FINALIZER]
        age = obj["metadata"].pop("creationTimestamp", "")
        by_age[age].append(obj)
    first = by_age.pop("", [])
    return [
        [obj for obj in first if obj["kind"] in {"Namespace", CRD}],
        [obj for obj in first if obj["kind"] not in {"Namespace", CRD}],
        *(sorted(by_age[age], key=_name) for age in sorted(by_age)),
    ]


def _let_settle(bridge: str) -> None:
    """Wait until the bridge plans and writes nothing for some seconds: to query OPA before makes statuses late."""
    deadline = time.monotonic() + PATIENCE
    before, quiet = "", 0
    while quiet < 5 and time.monotonic() < deadline:
        time.sleep(1)
        with urllib.request.urlopen(f"{bridge}/metrics", timeout=PATIENCE) as page:  # noqa: S310 (on loopback)
            now = "".join(STATUS_WORK.findall(page.read().decode()))
        before, quiet = now, quiet + 1 if now == before else 0
