"""An analysis as a SARIF log, for code scanning.

Specification: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bridge import __version__
from bridge.cli.plain import plain
from bridge.cli.printers.problems import Position
from bridge.model.keys import parse_key
from bridge.queries.analysis import is_error
from bridge.queries.names import short_key

if TYPE_CHECKING:
    from bridge.queries.analysis import Analysis

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# The description of each reason; a reason of an admin's module is described by its name.
_RULES = {
    "TargetNotFound": "A policy names a target that does not exist, or that no ReferenceGrant allows.",
    "Invalid": "A policy is invalid and has no effect.",
    "Conflicted": "An older policy has the same target.",
    "Overridden": "Other policies override a policy on all its paths.",
    "NoScope": "A policy has no effective target.",
    "Violation": "An object violates a Constraint.",
}


def sarif_log(answer: Analysis, position: Position) -> dict[str, Any]:
    """Return the log: introduced problems are new, other problems of changed objects are unchanged or absent."""
    states = (("new", answer.introduced), ("unchanged", answer.remaining), ("absent", answer.fixed))
    results = [_result(problem, state, position) for state, problems in states for problem in problems]
    rules = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    driver = {
        "name": "Policy Bridge",
        "semanticVersion": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": _RULES.get(rule, rule)}} for rule in rules],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _result(problem: Mapping[str, Any], state: str, position: Position) -> dict[str, Any]:
    key = parse_key(problem["subject"])
    place = position(key)
    found: dict[str, Any] = {
        "ruleId": problem["reason"],
        "level": "error" if is_error(problem) else "warning",
        "message": {"text": plain(f"{short_key(key)}: {problem['message']}")},
        "baselineState": state,
        "partialFingerprints": {"problem/v1": plain(f"{problem['subject']} {problem['reason']} {problem['about']}")},
        "locations": [_location(problem, place)],
    }
    return found


def _location(problem: Mapping[str, Any], place: tuple[str, int] | None) -> dict[str, Any]:
    logical: Sequence[Mapping[str, Any]] = [{"fullyQualifiedName": plain(problem["subject"]), "kind": "resource"}]
    if place is None:
        return {"logicalLocations": logical}
    file, line = place
    artifact = {"uri": "/".join(_quoted(file))}
    return {
        "physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line}},
        "logicalLocations": logical,
    }


def _quoted(file: str) -> Iterator[str]:
    """Quote a path for a URI reference; a colon in the first part would make it a scheme."""
    for part in PurePath(file).as_posix().split("/"):
        yield quote(part)
