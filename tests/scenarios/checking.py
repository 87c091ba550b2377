"""What a world says of a scenario against what is expected, the same for all worlds.

An outcome of `expected.yaml` has `says`, its sentence, and one of the checks below. Objects and paths may be written
short there, `<Kind>/<name>#<section>`; policies are named by their names (`<Kind>/<name>` where two kinds share one).

- `effective: {target, path, policyKind?, spec?, origins?, policies?, error?}`: what holds there. A scenario with such
  an outcome expects no other effective policy anywhere.
- `unreached: <target>`: no effective policy holds there; and none that nobody expects anywhere.
- `status: {policy, ancestor?, Accepted, Programmed, mentions?, message?, silent?}`: all conditions of a policy, as
  `<status>/<reason>`; what their messages mention, what Accepted's message is word for word, what no message mentions.
- `status: {policy, none: true}`: no status is written.
- `affected: {object, by}`: the policies that an object is marked with.
- `refused: {policyKind, reason?, mentions?}`: a PolicyKind, by its resource's name, that is not in force.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.scenarios.cases import Case


@dataclass(slots=True)
class Answers:
    """`effective` as the query gives it; by key each policy's status and each affected object's conditions.

    `refused`: by its resource's name the Accepted condition of each PolicyKind that is not in force.
    """

    effective: list[dict[str, Any]]
    statuses: dict[str, dict[str, Any]]
    conditions: dict[str, list[dict[str, Any]]]
    refused: dict[str, dict[str, Any]] = field(default_factory=dict)


def refusal(conditions: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The condition of a PolicyKind that says why it is not in force."""
    return next((c for c in conditions if c["type"] == "Accepted" and c["status"] == "False"), None)


def check(case: Case, answers: Answers) -> None:
    """Every expected outcome holds, and no effective policy is there that nobody expects."""
    expected_paths = []
    for outcome in case.outcomes:
        says = f"{case.name}: {outcome['says']}"
        if "effective" in outcome:
            expected_paths.append(_check_effective(case, says, outcome["effective"], answers))
        if "unreached" in outcome:
            _check_unreached(case, says, outcome["unreached"], answers)
        if "status" in outcome:
            _check_status(case, says, outcome["status"], answers)
        if "affected" in outcome:
            _check_affected(case, says, outcome["affected"], answers)
        if "refused" in outcome:
            _check_refused(says, outcome["refused"], answers)
    if any("effective" in outcome or "unreached" in outcome for outcome in case.outcomes):
        unexpected = [place for place in _paths(answers) if place not in expected_paths]
        assert not unexpected, f"{case.name}: effective policies that nobody expects: {unexpected}"
    unexpected_refusals = answers.refused.keys() - case.refused
    assert not unexpected_refusals, f"{case.name}: {[answers.refused[name] for name in unexpected_refusals]}"


def _paths(answers: Answers) -> dict[tuple[str, ...], dict[str, Any]]:
    return {
        (entry["policyKind"], entry["target"], *path["path"]): path
        for entry in answers.effective
        for path in entry["paths"]
    }


def _check_effective(case: Case, says: str, expected: dict[str, Any], answers: Answers) -> tuple[str, ...]:
    kind = case.kind(expected.get("policyKind", ""))
    place = (kind, case.key(expected["target"]), *map(case.key, expected["path"]))
    paths = _paths(answers)
    assert place in paths, f"{says}: no effective policy there, only at {list(paths)}"
    path = paths[place]
    keys = case.policies
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


def _check_unreached(case: Case, says: str, target: str, answers: Answers) -> None:
    there = [entry for entry in answers.effective if entry["target"] == case.key(target)]
    assert not there, f"{says}: {there}"


def _check_status(case: Case, says: str, expected: dict[str, Any], answers: Answers) -> None:
    status = answers.statuses.get(case.policies[expected["policy"]], {})
    if expected.get("none"):
        assert not status.get("conditions"), f"{says}: {status}"
        assert not status.get("ancestors"), f"{says}: {status}"
        return
    conditions = status.get("conditions", [])
    if "ancestor" in expected:
        entries = [
            entry
            for entry in status.get("ancestors", [])
            if expected["ancestor"].items() <= entry["ancestorRef"].items()
        ]
        assert len(entries) == 1, f"{says}: {status}"
        conditions = entries[0]["conditions"]
    shown = {condition["type"]: f"{condition['status']}/{condition['reason']}" for condition in conditions}
    types = ("Accepted", "Programmed")
    assert shown == {name: expected[name] for name in types if name in expected}, f"{says}: {conditions}"
    text = " ".join(condition["message"] for condition in conditions)
    for mention in expected.get("mentions", []):
        assert mention in text, f"{says}: {text}"
    for secret in expected.get("silent", []):
        assert secret not in text, f"{says}: {text}"
    if "message" in expected:
        assert expected["message"] in [c["message"] for c in conditions if c["type"] == "Accepted"], f"{says}: {text}"


def _check_affected(case: Case, says: str, expected: dict[str, Any], answers: Answers) -> None:
    marks = [
        condition
        for condition in answers.conditions.get(case.key(expected["object"]), [])
        if condition["type"].endswith("Affected")
    ]
    named = sorted(name for mark in marks for name in _named(mark["message"]))
    keys = case.policies
    wanted = sorted("/".join(keys[name].split("/")[2:]).removeprefix("-/") for name in expected["by"])
    assert named == wanted, f"{says}: {marks}"


def _named(message: str) -> list[str]:
    """The policies in `Affected by <Kind> a/b, c/d`."""
    return [part.strip() for part in message.split(" ", 3)[3].split(",")]


def _check_refused(says: str, expected: dict[str, Any], answers: Answers) -> None:
    condition = answers.refused.get(expected["policyKind"])
    assert condition is not None, f"{says}: it is in force"
    # The command line prints messages without reasons.
    assert condition.get("reason") in {None, expected.get("reason", condition.get("reason"))}, f"{says}: {condition}"
    for mention in expected.get("mentions", []):
        assert mention in condition["message"], f"{says}: {condition}"
