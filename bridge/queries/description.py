"""Everything about one object: its place in the hierarchy, its policies, its problems, its events."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.model.keys import Key, parse_key
from bridge.opa.client import Opa
from bridge.queries.asking import Entry, explained_at, objects
from bridge.queries.inventory import policies_at
from bridge.queries.statuses import statuses

_DEPTH = 1  # only the next nodes below are listed


@dataclass(frozen=True, slots=True)
class Description:
    """An object with related data. Keys are strings.

    `parents` and `children` are the nodes directly above and below by links that count, `attached` the policies that
    name the object or a section of it, `inherited` the policies from above that have an effect in it, `explained` the
    result of the query `explain`, `problems` that of the query `problems`. For a policy `status` is its status and
    `impact` the result of the query `impact`.
    """

    key: Key
    object: Entry
    parents: list[str]
    children: list[str]
    attached: list[Entry]
    inherited: list[Entry]
    explained: list[Entry]
    problems: list[Entry]
    events: list[Entry]
    status: Entry | None = None
    impact: Entry | None = None

    def document(self) -> dict[str, Any]:
        """Return the description as JSON."""
        found: dict[str, Any] = {
            "key": str(self.key),
            "object": self.object,
            "parents": self.parents,
            "children": self.children,
            "policies": {"attached": self.attached, "inherited": self.inherited},
            "effective": self.explained,
            "problems": self.problems,
            "events": self.events,
        }
        if self.status is not None:
            found["status"] = self.status
        if self.impact is not None:
            found["impact"] = self.impact
        return found


async def describe(opa: Opa, key: Key, events: Sequence[Entry]) -> Description:
    """Describe an object. `events` are those of a cluster. Raises OpaError."""
    whole = key.object
    held = (await objects(opa, [whole]))[whole]
    picture = (await opa.query("picture", {"objects": [str(whole)]})).get(str(whole), {})
    problems: list[Entry] = await opa.query("problems", {"objects": [str(whole)]})
    if whole.type_id in await opa.query("kinds_in_force", {}):
        found = await statuses(opa, with_objects=False, kind=whole.type_id, with_affected=False)
        status = next((entry for entry in found.policies if entry["policy"] == str(whole)), None)
        impact = await opa.query("impact", {"policy": str(whole)})
        return Description(whole, held, [], [], [], [], [], problems, list(events), status, impact)
    explained = [_through(entry, key) for entry in await explained_at(opa, key)]
    attached = policies_at(picture)
    named = {entry["policy"] for entry in attached}
    return Description(
        key=key,
        object=held,
        parents=_parents(whole, picture, explained),
        children=await _children(opa, whole) if picture else [],
        attached=attached,
        inherited=_inherited(explained, whole, named),
        explained=explained,
        problems=problems,
        events=list(events),
    )


def _through(entry: Entry, key: Key) -> Entry:
    """Return an explanation with only the paths through a node: a route below two Gateways has a path for each."""
    return {
        **entry,
        "paths": [at_path for at_path in entry["paths"] if any(_is_in(node, key) for node in at_path["path"])],
    }


def _is_in(node: str, key: Key) -> bool:
    found = parse_key(node)
    return found == key or (not key.section and found.object == key.object)


def _parents(key: Key, picture: Mapping[str, Any], explained: Sequence[Entry]) -> list[str]:
    """Return the nodes above: those that the picture links to the object, and those before it on a path of a policy."""
    found = {parent for parent, node in picture.get("edges", ()) if parse_key(node).object == key}
    for entry in explained:
        for at_path in entry["paths"]:
            above = _above(at_path["path"], key)
            if above and len(above) < len(at_path["path"]):
                found.add(above[-1])
    return sorted(parent for parent in found if parse_key(parent).object != key)


async def _children(opa: Opa, key: Key) -> list[str]:
    below = await opa.query("tree", {"root": str(key), "depth": _DEPTH})
    own: list[str] = below["nodes"].get(str(key), {}).get("children", [])
    found: dict[str, None] = {}
    for child in own:
        if parse_key(child).object == key:  # a section: the nodes below it count
            found.update(dict.fromkeys(below["nodes"].get(child, {}).get("children", []) or [child]))
        else:
            found[child] = None
    return list(found)


def _inherited(explained: Sequence[Entry], key: Key, named: set[str]) -> list[Entry]:
    """Return the policies attached above the object on the paths through it, each with its outcomes on these."""
    outcomes: dict[tuple[str, str], set[str]] = {}
    for entry in explained:
        for at_path in entry["paths"]:
            above = _above(at_path["path"], key)
            for policy in at_path["policies"]:
                if policy["target"] in above and policy["policy"] not in named:
                    name = (policy["policy"], policy["target"])
                    outcomes.setdefault(name, set()).add(policy.get("outcome", "Failed"))
    return [
        {"policy": policy, "at": at, "outcome": found.pop() if len(found) == 1 else "PartiallyProgrammed"}
        for (policy, at), found in sorted(outcomes.items())
    ]


def _above(path: Sequence[str], key: Key) -> list[str]:
    """Return the nodes of a path before those of the object."""
    return list(itertools.takewhile(lambda node: parse_key(node).object != key, path))
