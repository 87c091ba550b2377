"""The status plan: what an object shows against what it should show, as the smallest patch. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Condition = Mapping[str, Any]
_SAID = ("status", "reason", "message", "observedGeneration")  # what makes two conditions of one type equal


def plan_conditions(
    shown: Sequence[Condition], wanted: Sequence[Condition], ours: Iterable[str], now: str
) -> list[Condition] | None:
    """The whole list of conditions that an object should show, or None where it shows that already.

    `ours` are the condition types that are ours to set and to take away; all others stay as they are. A condition that
    says what it said keeps its lastTransitionTime, as does one whose status is the same (Kubernetes' convention); else
    it gets `now` (RFC 3339).
    """
    present = {condition["type"]: condition for condition in shown}
    to_show = {condition["type"]: condition for condition in wanted}
    removable = set(ours)
    result = [
        _merged(condition, to_show[condition["type"]], now) if condition["type"] in to_show else condition
        for condition in shown
        if condition["type"] in to_show or condition["type"] not in removable
    ]
    result += [{**condition, "lastTransitionTime": now} for name, condition in to_show.items() if name not in present]
    return None if result == list(shown) else result


def plan_ancestors(
    shown: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]], controller: str, now: str
) -> list[Mapping[str, Any]] | None:
    """The whole list of status.ancestors, or None where the object shows that already.

    Entries of other controllers stay, in their place. Ours are keyed by ancestorRef.
    """
    ours = {_reference(entry): entry for entry in shown if entry["controllerName"] == controller}
    result: list[Mapping[str, Any]] = [entry for entry in shown if entry["controllerName"] != controller]
    for entry in wanted:
        before = ours.get(_reference(entry), {}).get("conditions", [])
        names = [condition["type"] for condition in before]
        conditions = plan_conditions(before, entry["conditions"], names, now)
        result.append({**entry, "conditions": before if conditions is None else conditions})
    if sorted(map(repr, result)) == sorted(map(repr, shown)):
        return None
    return result


def plan_policy_status(status: Mapping[str, Any], wanted: Mapping[str, Any], now: str) -> dict[str, Any] | None:
    """The part of a policy's `status` to write, from what the query `status` wants; None where nothing differs."""
    if "ancestors" in wanted:
        ancestors = plan_ancestors(status.get("ancestors", []), wanted["ancestors"], wanted["controllerName"], now)
        return None if ancestors is None else {"ancestors": ancestors}
    conditions = plan_conditions(status.get("conditions", []), wanted["conditions"], POLICY_TYPES, now)
    return None if conditions is None else {"conditions": conditions}


def plan_affected_status(status: Mapping[str, Any], wanted: Mapping[str, Any], now: str) -> dict[str, Any] | None:
    """The part of an affected object's `status` to write, from what the query `affected` wants."""
    conditions = plan_conditions(status.get("conditions", []), wanted["conditions"], wanted["types"], now)
    return None if conditions is None else {"conditions": conditions}


POLICY_TYPES = ("Accepted", "Programmed")  # GEP-713, "Status conditions"


def with_status(obj: Mapping[str, Any], part: Mapping[str, Any] | None) -> dict[str, Any]:
    """The object as it would be after a planned part of its status was written."""
    if part is None:
        return dict(obj)
    return {**obj, "status": {**obj.get("status", {}), **part}}


def _merged(before: Condition, wanted: Condition, now: str) -> Condition:
    if all(before.get(name) == wanted.get(name) for name in _SAID):
        return before
    time = before.get("lastTransitionTime", now) if before.get("status") == wanted["status"] else now
    return {**wanted, "lastTransitionTime": time}


def _reference(entry: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(entry["ancestorRef"].items()))
