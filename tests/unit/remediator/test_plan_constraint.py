"""The status of a Constraint: what is written, and what is not."""

from typing import Any

from bridge.remediator.plan import plan_constraint

NOW = "2026-01-01T00:00:02Z"
BEFORE = "2026-01-01T00:00:01Z"
ACCEPTED = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "Constraint is active"}
ROW = {"kind": "Pod", "name": "cart", "enforcementAction": "deny", "message": "no"}
SHOWN = {
    "conditions": [{**ACCEPTED, "lastTransitionTime": BEFORE}],
    "totalViolations": 1,
    "violations": [ROW],
    "auditTimestamp": BEFORE,
}


def _wanted(**more: Any) -> dict[str, Any]:
    return {"condition": ACCEPTED, "totalViolations": 1, "violations": [ROW], **more}


def test_a_shown_status_of_a_constraint_is_not_written_again() -> None:
    assert plan_constraint({"status": SHOWN}, _wanted(), NOW) is None


def test_the_time_of_the_audit_moves_with_the_violations() -> None:
    patch = plan_constraint({"status": SHOWN}, _wanted(totalViolations=0, violations=[]), NOW)
    assert patch == {"status": {"totalViolations": 0, "violations": [], "auditTimestamp": NOW}}


def test_another_condition_alone_moves_no_time() -> None:
    condition = {**ACCEPTED, "message": "more"}
    patch = plan_constraint({"status": SHOWN}, _wanted(condition=condition), NOW)
    assert patch == {"status": {"conditions": [{**condition, "lastTransitionTime": BEFORE}]}}


def test_a_constraint_that_is_invalid_shows_no_violations() -> None:
    patch = plan_constraint({"status": SHOWN}, {"condition": ACCEPTED}, NOW)
    assert patch == {"status": {"totalViolations": None, "violations": None, "auditTimestamp": None}}
    assert plan_constraint({"status": {"conditions": SHOWN["conditions"]}}, {"condition": ACCEPTED}, NOW) is None


def test_a_status_of_another_form_is_replaced() -> None:
    patch = plan_constraint({"status": "odd"}, _wanted(), NOW)
    assert patch is not None
    assert patch["status"]["totalViolations"] == 1
