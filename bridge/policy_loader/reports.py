"""Reports to authors: an annotation on a ConfigMap, a RegoPolicy's status, and one Event. No I/O.

The annotation has the form of kube-mgmt's `openpolicyagent.org/kube-mgmt-status`, under a separate key.

For a folder of manifests, whose files are never written, rejections are logged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.observability import EventType, Record
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.submissions import ModuleProblem, Verdict

ANNOTATION = "policybridge.io/status"
MOST_PROBLEMS = 10  # of one object: an annotation and a status have a size limit
LONGEST_MESSAGE = 1000  # characters of a problem's message


class ObjectEvent(NamedTuple):
    """An Event of type Normal or Warning."""

    event_type: EventType
    reason: str
    message: str


def annotation(verdict: Verdict) -> str:
    """Return the annotation's value: `ok`, `error` with OPA's errors, or `pending` until OPA has loaded it."""
    if verdict.accepted:
        failing = {"failing": [_opa_error(problem) for problem in verdict.failing[:MOST_PROBLEMS]]}
        return _json({"status": "ok" if verdict.programmed else "pending", **(failing if verdict.failing else {})})
    error = {
        "code": verdict.problems[0].code,
        "message": summary(verdict),
        "errors": [_opa_error(problem) for problem in verdict.problems[:MOST_PROBLEMS]],
    }
    return _json({"status": "error", "error": error})


def status(verdict: Verdict, generation: int, current: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Return a RegoPolicy's status. `current` is its current one; `now` is the time for changed conditions."""
    wanted = [_accepted(verdict), _programmed(verdict)]
    found: dict[str, Any] = {
        "observedGeneration": generation,
        "conditions": [_dated(one, generation, current, now) for one in wanted],
    }
    if problems := (*verdict.problems, *verdict.failing):
        found["problems"] = [_problem(problem) for problem in problems[:MOST_PROBLEMS]]
    if verdict.active:
        before = current.get("inForce") or {}
        # The revision with which it became active. Later ones have it too: a change of others changes nothing here.
        kept = before.get("version") == verdict.active and before.get("revision")
        found["inForce"] = {"version": verdict.active, "revision": kept or verdict.revision}
    return found


def event(verdict: Verdict, *, fixed: bool) -> ObjectEvent | None:
    """Return the Event for a new verdict; `fixed` means that the previous one was a rejection."""
    if not verdict.accepted:
        return ObjectEvent("Warning", "PolicyRefused", summary(verdict))
    if verdict.failing:
        return ObjectEvent("Warning", "PolicyFails", summary_of_failing(verdict.failing))
    return ObjectEvent("Normal", "PolicyInForce", "The new version is active") if fixed and verdict.programmed else None


def summary(verdict: Verdict) -> str:
    """Return a rejection in one line: the first problem, the number of others, and the active version."""
    first, *others = verdict.problems
    more = f" (and {len(others)} more)" if others else ""
    instead = "the last good version stays active" if verdict.active else "no version is active"
    return f"{place(first)}{_cut(first.message)}{more}; {instead}"


def summary_of_failing(failing: Sequence[ModuleProblem]) -> str:
    """Return on what an active version fails in one line: the first object, and the number of others."""
    first, *others = failing
    more = f" (and {len(others)} more)" if others else ""
    return f"{place(first)}{_cut(first.message)}{more}; the modules stay active without these objects"


def place(problem: ModuleProblem) -> str:
    """Return `file:line:column: `, or the known part of it."""
    parts = [problem.file, *(str(number) for number in (problem.line, problem.column) if number)]
    return f"{':'.join(parts)}: " if problem.file else ""


def _opa_error(problem: ModuleProblem) -> dict[str, Any]:
    location = {"file": problem.file, "row": problem.line, "col": problem.column}
    return {"code": problem.code, "message": _cut(problem.message), "location": location}


def _problem(problem: ModuleProblem) -> dict[str, Any]:
    where = {"file": problem.file, "line": problem.line, "column": problem.column}
    return {"code": problem.code, "message": _cut(problem.message), **{name: at for name, at in where.items() if at}}


def _accepted(verdict: Verdict) -> dict[str, str]:
    if verdict.accepted:
        return _condition("Accepted", "True", "Accepted", "The modules compile with all others, and their tests pass")
    return _condition("Accepted", "False", _reason(verdict.problems[0].code), summary(verdict))


def _programmed(verdict: Verdict) -> dict[str, str]:
    if verdict.programmed:
        message = summary_of_failing(verdict.failing) if verdict.failing else "OPA uses this version"
        return _condition("Programmed", "True", "Programmed", message)
    if verdict.accepted:
        return _condition("Programmed", "False", "Pending", "OPA has not activated this version yet")
    if verdict.active:
        return _condition("Programmed", "False", "LastGoodVersion", "OPA uses the last good version")
    return _condition("Programmed", "False", "NotAccepted", "OPA has no version of this object")


def _condition(type_: str, status_: str, reason: str, message: str) -> dict[str, str]:
    return {"type": type_, "status": status_, "reason": reason, "message": message}


def _dated(condition: dict[str, str], generation: int, current: Mapping[str, Any], now: str) -> dict[str, Any]:
    conditions: Sequence[Mapping[str, Any]] = current.get("conditions") or ()
    before = next((one for one in conditions if one.get("type") == condition["type"]), {})
    since = before.get("lastTransitionTime") if before.get("status") == condition["status"] else None
    return {**condition, "observedGeneration": generation, "lastTransitionTime": since or now}


def _reason(code: str) -> str:
    """Return a condition's reason for OPA's code: `rego_parse_error` is RegoParseError."""
    reason = "".join(word.capitalize() for word in re.findall("[a-zA-Z]+", code))
    return reason or "Refused"


def _cut(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def announce(authors: Authors, record: Record) -> None:
    """Record each rejection of an author's object from now on, and its end."""
    refused: dict[Key, ObjectEvent] = {}

    def note(key: Key, obj: Object | None) -> None:
        author = authors.known.get(key)
        verdict = author.judgement if author else None
        if author is None or verdict is None:
            if obj is None:
                refused.pop(key, None)
            return
        found = event(verdict, fixed=key in refused)
        if found is None or found == refused.get(key):
            return
        if found.event_type == "Normal":
            del refused[key]
        else:
            refused[key] = found
        record(author.identity, found.event_type, found.reason, found.message)

    authors.listen(note)
