"""The page's violations: counted by Constraint, the most severe first, and cut."""

from typing import Any

from bridge.web.findings import SHOWN, _document


def _row(constraint: str, severity: str, number: int = 0, action: str = "deny", **more: Any) -> dict[str, Any]:
    row = {
        "constraint": constraint,
        "enforcementAction": action,
        "object": f"core/Service/shop/{number}",
        "message": "no",
    }
    return {**row, "details": {"severity": severity}, **more}


def test_many_violations_are_cut_after_the_most_severe_and_counted() -> None:
    rows = [_row("some", "low", number) for number in range(SHOWN + 500)]
    found = _document([*rows, _row("other", "high")])
    assert found["total"] == SHOWN + 501
    assert [(one["constraint"], one["total"]) for one in found["constraints"]] == [("other", 1), ("some", SHOWN + 500)]
    assert len(found["violations"]) == SHOWN
    assert found["violations"][0]["constraint"] == "other"


def test_exempted_violations_are_last_and_do_not_count() -> None:
    exemption = {"number": 0, "owner": "team web", "reason": "it moves", "until": "2027-05-31"}
    found = _document([_row("old", "high", exemption=exemption), _row("new", "low")])
    assert found["total"] == 1
    assert [(one["constraint"], one["total"], one["exempted"]) for one in found["constraints"]] == [
        ("new", 1, 0),
        ("old", 0, 1),
    ]
    assert [one.get("exemption") for one in found["violations"]] == [None, exemption]


def test_details_of_a_policy_without_a_guardrails_form_are_no_severity_and_no_target() -> None:
    rows = [{**_row("any", ""), "details": details} for details in ("text", {"severity": 7, "target": ["x"]}, {})]
    assert {(one["severity"], one["target"]) for one in _document(rows)["violations"]} == {("", "core/Service/shop/0")}
