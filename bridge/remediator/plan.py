"""The status plan: what an object shows against what it should show, as the smallest patch. Pure.

What is shown may have been written by anybody: parts that have not the form of conditions or ancestors are left alone
where they stand in a list, and count as nothing where there should be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Condition = Mapping[str, Any]
POLICY_TYPES = ("Accepted", "Programmed")  # GEP-713, "Status conditions"
_SAID = ("status", "reason", "message", "observedGeneration")  # what makes two conditions of one type equal


def plan_conditions(
    shown: Sequence[Any], wanted: Sequence[Condition], ours: Iterable[str], now: str
) -> list[Any] | None:
    """The whole list of conditions that an object should show, or None where it shows that already.

    `ours` are the condition types that are ours to set and to take away; all others stay as they are. A condition that
    says what it said keeps its lastTransitionTime, as does one whose status is the same (Kubernetes' convention); else
    it gets `now` (RFC 3339).
    """
    to_show = {condition["type"]: condition for condition in wanted}
    removable = {*ours, *to_show}
    result: list[Any] = []
    for condition in shown:
        name = _field(condition, "type")
        if name in to_show:
            result.append(_merged(condition, to_show.pop(name), now))
        elif name not in removable:
            result.append(condition)
    result += [{**condition, "lastTransitionTime": now} for condition in to_show.values()]
    return None if result == list(shown) else result


def plan_ancestors(
    shown: Sequence[Any], wanted: Sequence[Mapping[str, Any]], controller: str, now: str
) -> list[Any] | None:
    """The whole list of status.ancestors, or None where the object shows that already.

    Entries of other controllers stay, in their place. Ours are keyed by ancestorRef, and stay in theirs.
    """
    to_show = {_reference(entry): entry for entry in wanted}
    result: list[Any] = []
    for entry in shown:
        if _field(entry, "controllerName") != controller:
            result.append(entry)
        elif (reference := _reference(entry)) in to_show:
            result.append(_merged_ancestor(_list(entry, "conditions"), to_show.pop(reference), now))
    result += [_merged_ancestor([], entry, now) for entry in to_show.values()]
    return None if result == list(shown) else result


def plan_policy_status(status: Mapping[str, Any], wanted: Mapping[str, Any], now: str) -> dict[str, Any] | None:
    """The part of a policy's `status` to write, from what the query `status` wants; None where nothing differs."""
    if "ancestors" in wanted:
        ancestors = plan_ancestors(_list(status, "ancestors"), wanted["ancestors"], wanted["controllerName"], now)
        return None if ancestors is None else {"ancestors": ancestors}
    conditions = plan_conditions(_list(status, "conditions"), wanted["conditions"], POLICY_TYPES, now)
    return None if conditions is None else {"conditions": conditions}


def plan_affected_status(status: Mapping[str, Any], wanted: Mapping[str, Any], now: str) -> dict[str, Any] | None:
    """The part of an affected object's `status` to write, from what the query `affected` wants."""
    conditions = plan_conditions(_list(status, "conditions"), wanted["conditions"], wanted["types"], now)
    return None if conditions is None else {"conditions": conditions}


def with_status(obj: Mapping[str, Any], part: Mapping[str, Any] | None) -> dict[str, Any]:
    """The object as it would be after a planned part of its status was written."""
    if part is None:
        return dict(obj)
    return {**obj, "status": {**(obj.get("status") or {}), **part}}


def _merged(before: Condition, wanted: Condition, now: str) -> Condition:
    if all(before.get(name) == wanted.get(name) for name in _SAID):
        return before
    same = before.get("status") == wanted["status"]
    return {**wanted, "lastTransitionTime": before.get("lastTransitionTime") or now if same else now}


def _merged_ancestor(before: list[Any], wanted: Mapping[str, Any], now: str) -> Mapping[str, Any]:
    names = [name for condition in before if (name := _field(condition, "type"))]
    conditions = plan_conditions(before, wanted["conditions"], names, now)
    return {**wanted, "conditions": before if conditions is None else conditions}


def _field(thing: Any, name: str) -> str | None:
    value = thing.get(name) if isinstance(thing, Mapping) else None
    return value if isinstance(value, str) else None


def _list(thing: Any, name: str) -> list[Any]:
    value = thing.get(name) if isinstance(thing, Mapping) else None
    return value if isinstance(value, list) else []


def _reference(entry: Mapping[str, Any]) -> str:
    reference = entry.get("ancestorRef")
    return repr(sorted(reference.items())) if isinstance(reference, Mapping) else repr(reference)
