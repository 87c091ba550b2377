"""The removal of a bridge's traces in an object: the patches, from the result of the query `traces`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridge.remediator.statuses.plan import Patch, plan_ancestors, plan_conditions, plan_listeners, plan_parents

Traces = Mapping[str, list[Any]]  # in the form of the query `traces` for one object


def plan_removal(obj: Mapping[str, Any], traces: Traces) -> list[Patch]:
    """Return the patches that remove a bridge's traces from an object's status and metadata; none without traces.

    Empty values are removed: an object whose status was only a bridge's has none afterwards.
    """
    patches = [_status_patch(obj.get("status"), traces)]
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
    said += ["status"] if "status" in traces else []
    said += [", ".join(sorted({field for one in traces.get("webhooks", ()) for field in one["fields"]}))]
    said += ["the object itself"] if "object" in traces else []
    return [text for text in said if text]


def _status_patch(status: Any, traces: Traces) -> Patch | None:
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
        "ancestors": _without_ancestors(_list(status, "ancestors"), traces.get("ancestors", [])),
    }
    differing = {name: value or None for name, value in planned.items() if value is not None}
    if not differing:
        return None
    left = {name for name, value in {**status, **differing}.items() if value}
    return {"status": differing if left else None}


def _without_ancestors(shown: list[Any], controllers: list[str]) -> list[Any] | None:
    left = shown
    for controller in controllers:
        fewer = plan_ancestors(left, (), controller, "")
        left = left if fewer is None else fewer
    return None if left == shown else left


def _list(status: Mapping[str, Any], name: str) -> list[Any]:
    value = status.get(name)
    return value if isinstance(value, list) else []
