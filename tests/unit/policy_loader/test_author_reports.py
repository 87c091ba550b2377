"""What an author reads: the annotation in kube-mgmt's form, a RegoPolicy's status, an Event."""

import json
from typing import Any

import pytest

from bridge.model.keys import Key
from bridge.policy_loader.reporter import ObjectEvent, annotation, event, status
from bridge.policy_loader.submissions import (
    LOST,
    LOST_RULES,
    STATUS_ANNOTATION,
    ModuleProblem,
    Verdict,
    read_in_force,
    read_loss,
)

KEY = Key("core", "ConfigMap", "opa-policies", "one")
PROBLEM = ModuleProblem("main.rego", 3, 7, "rego_unsafe_var_error", "var x is unsafe")
OK = Verdict(KEY, "v2", "v2", (), "r7")
PENDING = Verdict(KEY, "v2", "v1", (), "r6")
REFUSED = Verdict(KEY, "v2", "v1", (PROBLEM, PROBLEM), "r6")
NEVER = Verdict(KEY, "v2", "", (PROBLEM,))
NOW, BEFORE = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"


def test_replicas_that_refuse_an_accepted_version_are_named() -> None:
    assert json.loads(annotation(OK, ["bridge-1"])) == {"status": "ok", "refusedBy": ["bridge-1"]}
    assert "refusedBy" not in json.loads(annotation(REFUSED, ["bridge-1"]))
    found = status(OK, 2, {}, NOW, ["bridge-1", "bridge-2"])
    assert found["refusedBy"] == ["bridge-1", "bridge-2"]
    assert found["conditions"][1]["message"] == "OPA uses this version; the OPA of bridge-1, bridge-2 refuses it"
    assert "refusedBy" not in status(REFUSED, 2, {}, NOW, ["bridge-1"])


def test_the_annotation_has_kube_mgmts_form() -> None:
    assert annotation(OK) == '{"status":"ok"}'
    assert annotation(PENDING) == '{"status":"pending"}'
    found = json.loads(annotation(NEVER))
    assert found == {
        "status": "error",
        "error": {
            "code": "rego_unsafe_var_error",
            "message": "main.rego:3:7: var x is unsafe; no version is active",
            "errors": [
                {
                    "code": "rego_unsafe_var_error",
                    "message": "var x is unsafe",
                    "location": {"file": "main.rego", "row": 3, "col": 7},
                }
            ],
        },
    }


def test_an_annotation_has_a_size_whatever_went_wrong() -> None:
    problems = tuple(ModuleProblem("a.rego", line, 1, "rego_parse_error", "x" * 100_000) for line in range(1, 200))
    found = annotation(Verdict(KEY, "v", "", problems))
    assert len(found) < 20_000
    assert "(and 198 more)" in found


def test_a_status_names_the_active_version() -> None:
    found = status(REFUSED, 4, {}, NOW)
    assert found["observedGeneration"] == 4
    assert found["inForce"] == {"version": "v1", "revision": "r6"}
    assert found["problems"][0] == {
        "code": "rego_unsafe_var_error",
        "message": "var x is unsafe",
        "file": "main.rego",
        "line": 3,
        "column": 7,
    }
    assert [(one["type"], one["status"], one["reason"]) for one in found["conditions"]] == [
        ("Accepted", "False", "RegoUnsafeVarError"),
        ("Programmed", "False", "LastGoodVersion"),
    ]
    assert found["conditions"][0]["message"] == (
        "main.rego:3:7: var x is unsafe (and 1 more); the last good version stays active"
    )


def test_a_status_without_problems_has_none() -> None:
    assert status(OK, 4, status(REFUSED, 3, {}, BEFORE), NOW) == {
        "observedGeneration": 4,
        "conditions": [
            {
                "type": "Accepted",
                "status": "True",
                "reason": "Accepted",
                "message": "The modules compile with all others, and their tests pass",
                "observedGeneration": 4,
                "lastTransitionTime": NOW,
            },
            {
                "type": "Programmed",
                "status": "True",
                "reason": "Programmed",
                "message": "OPA uses this version",
                "observedGeneration": 4,
                "lastTransitionTime": NOW,
            },
        ],
        "inForce": {"version": "v2", "revision": "r7"},
    }


def test_a_status_that_says_the_same_stays_as_it_is() -> None:
    shown = status(OK, 4, {}, BEFORE)
    later = Verdict(KEY, "v2", "v2", (), "r8")  # another author's module has changed
    assert status(later, 4, shown, NOW) == shown


def test_reasons_are_such_as_kubernetes_takes() -> None:
    for code in ("", "7", "rego type/error", "äöü"):
        reason = status(Verdict(KEY, "v", "", (ModuleProblem("", 0, 0, code, "m"),)), 1, {}, NOW)["conditions"][0][
            "reason"
        ]
        assert reason.isascii()
        assert reason[0].isalpha()


def test_events_report_rejected_and_fixed_versions() -> None:
    assert event(NEVER, fixed=False) == ObjectEvent(
        "Warning", "PolicyRefused", "main.rego:3:7: var x is unsafe; no version is active"
    )
    assert event(OK, fixed=False) is None
    assert event(OK, fixed=True) == ObjectEvent("Normal", "PolicyInForce", "The new version is active")
    assert event(PENDING, fixed=True) is None


def test_active_version_that_fails_on_an_object_is_reported_as_such() -> None:
    failing = Verdict(KEY, "v2", "v2", (), "r7", (PROBLEM,))
    assert json.loads(annotation(failing))["status"] == "ok"
    assert json.loads(annotation(failing))["failing"][0]["message"] == "var x is unsafe"
    found = status(failing, 4, {}, NOW)
    assert found["problems"][0]["message"] == "var x is unsafe"
    assert [one["status"] for one in found["conditions"]] == ["True", "True"]
    message = "main.rego:3:7: var x is unsafe; the modules stay active without these objects"
    assert found["conditions"][1]["message"] == message
    assert event(failing, fixed=False) == ObjectEvent("Warning", "PolicyFails", message)


LOSS = f"{LOST_RULES} core/ConfigMap/opa-policies/lib was deleted"


def test_loss_is_read_back_from_the_written_report() -> None:
    lost = Verdict(KEY, "v2", "", (ModuleProblem("main.rego", 3, 7, LOST, f"{LOSS} (undefined function (x))"), PROBLEM))
    assert read_loss({"metadata": {"annotations": {STATUS_ANNOTATION: annotation(lost)}}}) == LOSS
    assert read_loss({"metadata": {}, "status": status(lost, 1, {}, NOW)}) == LOSS
    assert not read_loss({"metadata": {"annotations": {STATUS_ANNOTATION: annotation(NEVER)}}})
    assert not read_loss({"metadata": {}, "status": status(NEVER, 1, {}, NOW)})


def test_active_version_is_read_back_from_the_written_status() -> None:
    found = status(Verdict(KEY, "v2", "v1", (PROBLEM,)), 1, {}, NOW)
    assert read_in_force({"metadata": {}, "status": found}) == "v1"
    assert not read_in_force({"metadata": {}, "status": status(NEVER, 1, {}, NOW)})


@pytest.mark.parametrize(
    "written",
    ["", "[", "[]", "null", '{"error":1}', '{"error":{"errors":[1]}}', "[" * 5000, '{"error":{"errors":[{"code":7}]}}'],
)
def test_status_that_is_not_the_bridges_states_no_loss(written: Any) -> None:
    assert not read_loss({"metadata": {"annotations": {STATUS_ANNOTATION: written}}})
    assert not read_loss({"metadata": {"annotations": written}, "status": written})
    assert not read_in_force({"metadata": {}, "status": written})


def test_message_of_a_loss_begins_as_the_bridge_writes_it() -> None:
    invented = {"error": {"errors": [{"code": LOST, "message": "all is well (really)"}]}}
    found = read_loss({"metadata": {"annotations": {STATUS_ANNOTATION: json.dumps(invented)}}})
    assert found == f"{LOST_RULES} a former run of the bridge"
