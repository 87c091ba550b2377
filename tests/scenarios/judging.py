"""Compare the results of Constraints in OPA, the command line or a cluster with the expected outcomes.

These outcomes of `expected.yaml` are about Constraints:

- `violations: {constraint, objects?, action?}`: all violations of a Constraint by the scenario's objects that are not
  exempted, as messages by object; `action` is their enforcementAction, deny by default.
- `constraint: {name, Accepted, mentions?}`: the condition of a Constraint, as `<status>/<reason>`.
- `admission: {object, denied?, warnings?}`: all messages about the request to create an object.
"""

from dataclasses import dataclass
from typing import Any

from bridge.model.keys import key_of
from tests.scenarios.cases import Case


@dataclass(slots=True)
class Judged:
    """The query `violations`; by name each Constraint's condition Accepted.

    `conditions` None: unknown. `admitted`: by key the response to the creation of objects, None where no webhook is
    available.
    """

    violations: list[dict[str, Any]]
    conditions: dict[str, dict[str, Any]] | None = None
    admitted: dict[str, dict[str, Any]] | None = None


def check_judged(case: Case, judged: Judged) -> None:
    """Check every expected outcome about Constraints."""
    for outcome in case.outcomes:
        says = f"{case.name}: {outcome['says']}"
        if "violations" in outcome:
            _check_violations(case, says, outcome["violations"], judged.violations)
        if "constraint" in outcome and judged.conditions is not None:
            _check_condition(says, outcome["constraint"], judged.conditions)
        if "admission" in outcome and judged.admitted is not None:
            _check_admission(case, says, outcome["admission"], judged.admitted)


def creation(case: Case, key: str) -> dict[str, Any]:
    """Return the admission request for the creation of one of the scenario's objects."""
    [obj] = [obj for obj in case.objects if str(key_of(obj)) == key]
    group, _, version = obj["apiVersion"].rpartition("/")
    return {
        "uid": "1",
        "operation": "CREATE",
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "name": obj["metadata"]["name"],
        "namespace": obj["metadata"].get("namespace", ""),
        "object": obj,
        "oldObject": None,
    }


def _check_violations(case: Case, says: str, expected: dict[str, Any], violations: list[dict[str, Any]]) -> None:
    mine = {str(key) for key in case.keys}
    counted = [row for row in violations if row["constraint"] == expected["constraint"] and "exemption" not in row]
    rows = [row for row in counted if row["object"] in mine]
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["object"], []).append(row["message"])
    assert found == {case.key(name): messages for name, messages in expected.get("objects", {}).items()}, says
    assert {row["enforcementAction"] for row in rows} <= {expected.get("action", "deny")}, says


def _check_condition(says: str, expected: dict[str, Any], conditions: dict[str, dict[str, Any]]) -> None:
    condition = conditions[expected["name"]]
    assert f"{condition['status']}/{condition['reason']}" == expected["Accepted"], f"{says}: {condition}"
    for mention in expected.get("mentions", []) if condition["message"] else []:  # an API server that refuses has none
        assert mention in condition["message"], f"{says}: {condition}"


def _check_admission(case: Case, says: str, expected: dict[str, Any], admitted: dict[str, dict[str, Any]]) -> None:
    told = admitted[case.key(expected["object"])]
    assert told == {"denied": expected.get("denied", []), "warnings": expected.get("warnings", [])}, says
