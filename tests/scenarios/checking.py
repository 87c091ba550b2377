"""What a world says of a scenario against what is expected, the same for all worlds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.scenarios.cases import Case


@dataclass(slots=True)
class Answers:
    """`effective` as the query gives it; by key each policy's status and each affected object's conditions."""

    effective: list[dict[str, Any]]
    statuses: dict[str, dict[str, Any]]
    conditions: dict[str, list[dict[str, Any]]]


def check(case: Case, answers: Answers) -> None:
    """Every expected outcome holds, and no effective policy is there that nobody expects."""
    expected_paths = []
    for outcome in case.outcomes():
        says = f"{case.name}: {outcome['says']}"
        if "effective" in outcome:
            expected_paths.append(_check_effective(case, says, outcome["effective"], answers))
        if "status" in outcome:
            _check_status(case, says, outcome["status"], answers)
        if "affected" in outcome:
            _check_affected(case, says, outcome["affected"], answers)
    if any("effective" in outcome for outcome in case.outcomes()):
        unexpected = [place for place in _paths(answers) if place not in expected_paths]
        assert not unexpected, f"{case.name}: effective policies that nobody expects: {unexpected}"


def _paths(answers: Answers) -> dict[tuple[str, ...], dict[str, Any]]:
    return {
        (entry["policyKind"], entry["target"], *path["path"]): path
        for entry in answers.effective
        for path in entry["paths"]
    }


def _check_effective(case: Case, says: str, expected: dict[str, Any], answers: Answers) -> tuple[str, ...]:
    kind = expected.get("policyKind") or next(iter(case.policy_kinds()))
    place = (kind, expected["target"], *expected["path"])
    paths = _paths(answers)
    assert place in paths, f"{says}: no effective policy there, only at {list(paths)}"
    path = paths[place]
    keys = case.policies()
    if "spec" in expected:
        assert path["spec"] == expected["spec"], says
    if "origins" in expected:
        assert path["origins"] == {pointer: keys[name] for pointer, name in expected["origins"].items()}, says
    if "policies" in expected:
        outcomes = {policy["policy"]: policy["outcome"] for policy in path["policies"]}
        assert outcomes == {keys[name]: outcome for name, outcome in expected["policies"].items()}, says
    if "error" in expected:
        assert path["error"]["code"] == expected["error"], says
    return place


def _check_status(case: Case, says: str, expected: dict[str, Any], answers: Answers) -> None:
    status = answers.statuses[case.policies()[expected["policy"]]]
    conditions = status.get("conditions", [])
    if "ancestor" in expected:
        entries = [
            entry for entry in status["ancestors"] if expected["ancestor"].items() <= entry["ancestorRef"].items()
        ]
        assert len(entries) == 1, f"{says}: {status}"
        conditions = entries[0]["conditions"]
    shown = {condition["type"]: f"{condition['status']}/{condition['reason']}" for condition in conditions}
    types = ("Accepted", "Programmed")
    assert shown == {name: expected[name] for name in types if name in expected}, f"{says}: {conditions}"
    text = " ".join(condition["message"] for condition in conditions)
    for mention in expected.get("mentions", []):
        assert mention in text, f"{says}: {text}"


def _check_affected(case: Case, says: str, expected: dict[str, Any], answers: Answers) -> None:
    marks = [
        condition
        for condition in answers.conditions.get(expected["object"], [])
        if condition["type"].endswith("Affected")
    ]
    named = sorted(name for mark in marks for name in _named(mark["message"]))
    keys = case.policies()
    wanted = sorted("/".join(keys[name].split("/")[2:]).removeprefix("-/") for name in expected["by"])
    assert named == wanted, f"{says}: {marks}"


def _named(message: str) -> list[str]:
    """The policies in `Affected by <Kind> a/b, c/d`."""
    return [part.strip() for part in message.split(" ", 3)[3].split(",")]
