"""Statuses and marks: what the engine wants of an object, and what the object shows, in a form that has no order."""

from collections.abc import Mapping
from typing import Any

from bridge.model.changes import Object
from bridge.model.keys import Key, parse_key

MARKED = {"Namespace", "Gateway", "GatewayClass", "Service", "HTTPRoute", "Thing"}  # kinds that policies affect


def said(entry: dict[str, Any]) -> Any:
    """What a wanted status says, in a form that has no order."""
    if "ancestors" in entry:
        return {str(one["ancestorRef"]): _conditions(one["conditions"]) for one in entry["ancestors"]}
    return _conditions(entry["conditions"])


def shown(objects: Mapping[Key, Object], entry: dict[str, Any]) -> Any:
    """The same of what was written, less what is another's."""
    status = objects[parse_key(entry["policy"])].get("status", {})
    if "ancestors" in entry:
        ours = [one for one in status.get("ancestors", []) if one["controllerName"] == entry["controllerName"]]
        return {str(one["ancestorRef"]): _conditions(one["conditions"]) for one in ours}
    return _conditions(status.get("conditions", []))


def marks_wanted(entry: dict[str, Any]) -> dict[str, Any]:
    """What the query `affected` wants of an object, by place; nothing for a place with nothing."""
    places: dict[str, Any] = {"": _conditions(entry.get("conditions", []))}
    places |= {name: _conditions(wanted) for name, wanted in entry.get("listeners", {}).items()}
    for parent in entry.get("parents", []):
        places[f"{parent['parentRef']} {parent['controllerName']}"] = _conditions(parent["conditions"])
    places["annotations"] = entry.get("annotations", {})
    return {place: found for place, found in places.items() if found}


def marks_shown(objects: Mapping[Key, Object], entry: dict[str, Any]) -> dict[str, Any]:
    """The same of what was written, less what is another's."""
    obj = objects[parse_key(entry["object"])]
    status, annotations = obj.get("status", {}), obj["metadata"].get("annotations", {})
    places = {"": _conditions(status.get("conditions", []))}
    places |= {one["name"]: _conditions(one["conditions"]) for one in status.get("listeners", [])}
    for parent in status.get("parents", []):
        places[f"{parent['parentRef']} {parent['controllerName']}"] = _conditions(parent["conditions"])
    places["annotations"] = annotations
    types = entry["types"]
    only = {
        place: {name: reported for name, reported in found.items() if name in types} for place, found in places.items()
    }
    return {place: found for place, found in only.items() if found}


def _conditions(conditions: list[Any]) -> dict[str, Any]:
    return {
        one["type"]: {name: value for name, value in one.items() if name != "lastTransitionTime"}
        for one in conditions
        if isinstance(one, dict) and one["type"] not in {1, "Theirs"}
    }
