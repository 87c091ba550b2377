"""The status plan: the difference between current and desired status of an object, as a patch; and the removal. Pure.

Any client may have written the current status: entries without the form of conditions or ancestors stay unchanged in a
list, and a value that is not a list counts as empty.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from bridge.model.nesting import as_mapping

Condition = Mapping[str, Any]
Current = Mapping[str, Any]  # {status, annotations}, in the form of the query `current_statuses`
Patch = dict[str, Any]  # {status: its fields} or {metadata: {annotations}}; a merge patch (RFC 7386)
_COUNTS = ("totalViolations", "violations", "exemptedViolations")  # of a Constraint
_COMPARED = ("status", "reason", "message", "observedGeneration")  # fields that make two conditions of one type equal


def plan_conditions(
    current: Sequence[Any], wanted: Sequence[Condition], ours: Iterable[str], now: str
) -> list[Any] | None:
    """Return the complete desired list of an object's conditions, or None if it is up to date.

    `ours` are the condition types that the bridge sets and removes; all others stay unchanged. An unchanged condition
    keeps its lastTransitionTime, as does one with the same status (Kubernetes' convention); others get `now` (RFC
    3339).
    """
    to_show = {condition["type"]: condition for condition in wanted}
    removable = {*ours, *to_show}
    result: list[Any] = []
    for condition in current:
        name = _field(condition, "type")
        if name in to_show:
            result.append(_merge_condition(condition, to_show.pop(name), now))
        elif name not in removable:
            result.append(condition)
    result += [{**condition, "lastTransitionTime": now} for condition in to_show.values()]
    return None if result == list(current) else result


def plan_ancestors(
    current: Sequence[Any], wanted: Sequence[Mapping[str, Any]], controllers: Collection[str], now: str
) -> list[Any] | None:
    """Return the complete list of status.ancestors, or None if it is up to date.

    Entries of other controllers keep their place. The bridge's, of `controllers`, are keyed by ancestorRef, and keep
    theirs.
    """
    to_show = {_reference(entry): entry for entry in wanted}
    result: list[Any] = []
    for entry in current:
        if _field(entry, "controllerName") not in controllers:
            result.append(entry)
        elif (reference := _reference(entry)) in to_show:
            result.append(_merge_ancestor(_list(entry, "conditions"), to_show.pop(reference), now))
    result += [_merge_ancestor([], entry, now) for entry in to_show.values()]
    return None if result == list(current) else result


def plan_listeners(
    current: Sequence[Any], wanted: Mapping[str, Sequence[Condition]], ours: Iterable[str], now: str
) -> list[Any] | None:
    """Return the complete list of status.listeners, or None if it is up to date. Only conditions differ."""
    types = tuple(ours)
    result = []
    for entry in current:
        name = _field(entry, "name")
        before = _list(entry, "conditions")
        after = plan_conditions(before, wanted.get(name, ()) if name else (), types, now)
        result.append(entry if after is None else {**entry, "conditions": after})
    return None if result == list(current) else result


def plan_parents(current: Sequence[Any], wanted: Mapping[str, Any], now: str) -> list[Any] | None:
    """Return the complete list of a route's status.parents, or None if it is up to date.

    `wanted` has the entries `parents`, keyed by parentRef and controllerName, the bridge's condition `types`, and the
    `controllers` of its entries. Other conditions of such an entry stay; an entry without conditions is removed.
    """
    to_show = {_parent(entry): entry for entry in wanted["parents"]}
    result: list[Any] = []
    for entry in current:
        if _field(entry, "controllerName") not in wanted["controllers"]:
            result.append(entry)
            continue
        before, new = _list(entry, "conditions"), to_show.pop(_parent(entry), None)
        after = plan_conditions(before, new["conditions"] if new else (), wanted["types"], now)
        if after is None:
            result.append(entry)
        elif after:
            result.append({**entry, "conditions": after})
    result += [{**entry, "conditions": plan_conditions([], entry["conditions"], (), now)} for entry in to_show.values()]
    return None if result == list(current) else result


def plan_annotations(current: Mapping[str, Any], wanted: Mapping[str, str], ours: Iterable[str]) -> Patch | None:
    """Return the annotations to set, and with None those to remove; None if all are up to date."""
    changes: Patch = {name: value for name, value in wanted.items() if current.get(name) != value}
    changes |= dict.fromkeys((name for name in ours if name in current and name not in wanted), None)
    return changes or None


def plan_policy(current: Current, wanted: Mapping[str, Any], now: str) -> Patch | None:
    """Return the patch of a policy, from the result of the query `status`; None without a difference."""
    status = current["status"]
    part = {
        # Entries are removed if the kind no longer reports by ancestor. Conditions stay in the opposite case, because
        # they may be another controller's by now.
        "ancestors": plan_ancestors(
            _list(status, "ancestors"),
            wanted.get("ancestors", ()),
            [wanted.get("controllerName", ""), *wanted.get("former", ())],
            now,
        )
    }
    if "conditions" in wanted:
        part["conditions"] = plan_conditions(_list(status, "conditions"), wanted["conditions"], wanted["types"], now)
    return _make_status_patch(part)


def plan_affected(current: Current, wanted: Mapping[str, Any], now: str) -> Patch | None:
    """Return the patch of an affected object, from the result of the query `affected`; None without a difference.

    Status and metadata are written separately: metadata are planned once the status is up to date.
    """
    status, annotations = current["status"], as_mapping(current.get("annotations"))
    ours = wanted["types"]
    part = {
        # Former places of the object's type are cleared too.
        "conditions": plan_conditions(_list(status, "conditions"), wanted.get("conditions", ()), ours, now),
        "listeners": plan_listeners(_list(status, "listeners"), wanted.get("listeners", {}), ours, now),
        "parents": plan_parents(_list(status, "parents"), {"parents": (), **wanted}, now),
    }
    if patch := _make_status_patch(part):
        return patch
    changes = plan_annotations(annotations, wanted.get("annotations", {}), ours)
    return None if changes is None else {"metadata": {"annotations": changes}}


def plan_constraint(current: Current, wanted: Mapping[str, Any], now: str) -> Patch | None:
    """Return the patch of a Constraint, from the result of the query `constraints`; None without a difference.

    auditTimestamp changes only with the violations.
    """
    status = as_mapping(current["status"])
    part: Patch = {"conditions": plan_conditions(_list(status, "conditions"), [wanted["condition"]], (), now)}
    counts = {name: wanted[name] for name in _COUNTS if name in wanted}
    if counts and any(status.get(name) != value for name, value in counts.items()):
        part |= counts | {"auditTimestamp": now}
    patch = _make_status_patch(part)
    kept = {*counts, "auditTimestamp"} if counts else set()
    if gone := [name for name in (*_COUNTS, "auditTimestamp") if name not in kept and status.get(name) is not None]:
        # An invalid Constraint has no effect: its earlier violations are removed. One without exemptions exempts none.
        patch = {"status": {**(patch["status"] if patch else {}), **dict.fromkeys(gone)}}
    return patch


def _make_status_patch(part: Mapping[str, Any]) -> Patch | None:
    """Return the patch of a status from its planned fields, where None means that the field stays unchanged."""
    differing = {name: value for name, value in part.items() if value is not None}
    return {"status": differing} if differing else None


def patched(obj: Mapping[str, Any], patch: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the object after a planned patch."""
    result = dict(obj)
    if patch and "status" in patch:
        result["status"] = {**as_mapping(obj.get("status")), **patch["status"]}
    if patch and "metadata" in patch:
        metadata = obj["metadata"]
        merged = {**as_mapping(metadata.get("annotations")), **patch["metadata"]["annotations"]}
        annotations = {name: value for name, value in merged.items() if value is not None}
        result["metadata"] = {**metadata, "annotations": annotations}
    return result


def _merge_condition(before: Condition, wanted: Condition, now: str) -> Condition:
    if all(before.get(name) == wanted.get(name) for name in _COMPARED):
        return before
    same = before.get("status") == wanted["status"]
    return {**wanted, "lastTransitionTime": before.get("lastTransitionTime") or now if same else now}


def _merge_ancestor(before: list[Any], wanted: Mapping[str, Any], now: str) -> Mapping[str, Any]:
    names = [name for condition in before if (name := _field(condition, "type"))]
    conditions = plan_conditions(before, wanted["conditions"], names, now)
    return {**wanted, "conditions": before if conditions is None else conditions}


def _field(thing: Any, name: str) -> str | None:
    value = thing.get(name) if isinstance(thing, Mapping) else None
    return value if isinstance(value, str) else None


def _list(thing: Any, name: str) -> list[Any]:
    value = thing.get(name) if isinstance(thing, Mapping) else None
    return value if isinstance(value, list) else []


def _parent(entry: Mapping[str, Any]) -> str:
    return f"{_field(entry, 'controllerName')} {_canonical_reference(entry.get('parentRef'))}"


def _reference(entry: Mapping[str, Any]) -> str:
    return _canonical_reference(entry.get("ancestorRef"))


def _canonical_reference(reference: Any) -> str:
    return repr(sorted(reference.items())) if isinstance(reference, Mapping) else repr(reference)


Traces = Mapping[str, list[Any]]  # in the form of the query `traces` for one object


def plan_removal(obj: Mapping[str, Any], traces: Traces) -> list[Patch]:
    """Return the patches that remove a bridge's traces from an object's status and metadata; none without traces.

    Empty values are removed: an object whose status was only a bridge's has none afterwards.
    """
    patches = [_make_removal_patch(obj.get("status"), traces)]
    if names := [name for name in traces.get("annotations", ()) if name in (obj["metadata"].get("annotations") or {})]:
        patches.append({"metadata": {"annotations": dict.fromkeys(names)}})
    return [patch for patch in patches if patch]


def without_nulls(patch: Patch) -> Patch:
    """Return the same patch for an object whose lists are required, even if empty."""
    return {"status": {name: [] if value is None else value for name, value in (patch.get("status") or {}).items()}}


def describe(traces: Traces) -> list[str]:
    """Return the removed traces as text."""
    listed = {
        "conditions": "conditions",
        "types": "marks",
        "ancestors": "status.ancestors of",
        "annotations": "annotations",
    }
    said = [f"{text} {', '.join(sorted(traces[name]))}" for name, text in listed.items() if name in traces]
    said += [name for name in ("status", "report") if name in traces]
    said += [", ".join(sorted({field for one in traces.get("webhooks", ()) for field in one["fields"]}))]
    return [text for text in said if text]


def _make_removal_patch(status: Any, traces: Traces) -> Patch | None:
    if not isinstance(status, Mapping):
        return None
    if "status" in traces:
        return {"status": None}
    types = traces.get("types", [])
    wanted = {"parents": (), "types": types, "controllers": traces.get("parents", [])}
    planned = {
        "conditions": plan_conditions(_list(status, "conditions"), (), [*types, *traces.get("conditions", [])], ""),
        "listeners": plan_listeners(_list(status, "listeners"), {}, types, ""),
        "parents": plan_parents(_list(status, "parents"), wanted, ""),
        "ancestors": plan_ancestors(_list(status, "ancestors"), (), traces.get("ancestors", []), ""),
    }
    differing = {name: value or None for name, value in planned.items() if value is not None}
    if not differing:
        return None
    left = {name for name, value in {**status, **differing}.items() if value}
    return {"status": differing if left else None}
