"""Objects of the hierarchy with their policies: lists of them, and everything about one object."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.model.keys import Key, parse_key
from bridge.model.nesting import as_mapping
from bridge.model.types import GATEWAY
from bridge.opa.batches import batches
from bridge.opa.client import Opa
from bridge.queries.asking import BATCH, Entry, explained_at, objects, with_suggestions
from bridge.queries.names import identity
from bridge.queries.statuses import statuses

if TYPE_CHECKING:
    from bridge.offline.engine import Engine


async def listed_objects(opa: Opa, keys: Sequence[Key]) -> list[Entry]:
    """Return objects with policies: `{object, created, labels, details, policies: [{policy, at, accepted, reason?}]}`.

    Each also has the fields of `identity`.
    `details` depends on the kind, like kubectl's and gwctl's columns. `at` is the object or section that a policy
    names. A Gateway also has `routes`, the number of routes that its listeners accept.
    """
    held = await objects(opa, keys)
    found = []
    for batch in batches([key for key in keys if key in held], BATCH):
        pictures = await opa.query("picture", {"objects": [str(key) for key in batch]})
        for key in batch:
            obj = held[key]
            metadata = obj["metadata"]
            entry: Entry = identity(obj) | {
                "object": str(key),
                "created": metadata.get("creationTimestamp"),
                "labels": as_mapping(metadata.get("labels")),
                "details": _list_details(key, obj),
                "policies": policies_at(pictures.get(str(key), {})),
            }
            if key.type_id == GATEWAY:
                entry["routes"] = await _count_routes(opa, key)
            found.append(entry)
    return found


def policies_at(picture: Mapping[str, Any]) -> list[Entry]:
    """Return the policies of an entry of the query `picture`, each with the node that it names."""
    return [
        {"policy": policy["policy"], "at": node}
        | {name: policy[name] for name in ("accepted", "reason") if name in policy}
        for node, about in sorted(picture.get("nodes", {}).items())
        for policy in about["policies"]
    ]


async def _count_routes(opa: Opa, gateway: Key) -> int:
    below = await opa.query("tree", {"root": str(gateway), "depth": 1})
    routes = {child for node in below["nodes"].values() for child in node["children"]}
    return sum(1 for child in routes if parse_key(child).kind.endswith("Route"))


def _list_details(key: Key, obj: Mapping[str, Any]) -> dict[str, str]:
    """Return kubectl's columns for an object. Values of another type than the API requires are omitted."""
    spec, status = as_mapping(obj.get("spec")), as_mapping(obj.get("status"))
    if key.type_id == GATEWAY:
        addresses = [_show(one.get("value")) for one in _dicts_in(status.get("addresses"))]
        return {
            "CLASS": _show(spec.get("gatewayClassName")),
            "ADDRESSES": ",".join(addresses),
            "PORTS": ",".join(dict.fromkeys(_show(one.get("port")) for one in _dicts_in(spec.get("listeners")))),
            "PROGRAMMED": _condition(status, "Programmed"),
        }
    if key.kind == "GatewayClass":
        return {"CONTROLLER": _show(spec.get("controllerName")), "ACCEPTED": _condition(status, "Accepted")}
    if key.kind.endswith("Route"):
        hostnames = spec.get("hostnames")
        return {
            "HOSTNAMES": ",".join(map(_show, hostnames)) if isinstance(hostnames, list) else "",
            "PARENTS": ",".join(_format_parent(one) for one in _dicts_in(spec.get("parentRefs"))),
        }
    if key.type_id == "core/Service":
        ports = [
            f"{_show(one.get('port'))}/{_show(one.get('protocol', 'TCP'))}" for one in _dicts_in(spec.get("ports"))
        ]
        return {"TYPE": _show(spec.get("type", "ClusterIP")), "PORTS": ",".join(ports)}
    return {}


def _format_parent(ref: Mapping[str, Any]) -> str:
    type_id = f"{ref.get('group', 'gateway.networking.k8s.io')}/{ref.get('kind', 'Gateway')}"
    kind = "" if type_id == GATEWAY else f"{_show(ref.get('kind'))}/"
    namespace = f"{_show(ref['namespace'])}/" if ref.get("namespace") else ""
    section = f"#{_show(ref['sectionName'])}" if ref.get("sectionName") else ""
    return f"{kind}{namespace}{_show(ref.get('name'))}{section}"


def _condition(status: Mapping[str, Any], type_: str) -> str:
    found = [_show(one.get("status")) for one in _dicts_in(status.get("conditions")) if one.get("type") == type_]
    return found[0] if found else "Unknown"


def _dicts_in(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _show(value: Any) -> str:
    return "" if value is None else str(value)


_RULES = 10  # rules above a backend whose effective policies are shown
_DEPTH = 1  # only the next nodes below are listed


@dataclass(frozen=True, slots=True)
class Description:
    """An object with related data. Keys are strings.

    `parents` and `children` are the nodes directly above and below by accepted links, `attached` the policies that
    name the object or a section of it, `inherited` the policies from above that have an effect in it. `explained` is
    the result of the query `explain` for it and, for a backend, for the first rules above it, `problems` that of the
    query `problems`. For a policy `status` is its status and `impact` the result of the query `impact`.
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
        found: dict[str, Any] = identity(self.object) | {
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
            from bridge.queries.analysis import without_fields

            found["impact"] = self.impact | {"ifDeleted": without_fields(self.impact["ifDeleted"])}
        return found


async def describe(engine: Engine, key: Key) -> Description:
    """Describe an object. Raises OpaError, for a policy also like `policy_impact`."""
    from bridge.queries.analysis import policy_impact  # most objects need nothing of it

    opa, whole = engine.opa, key.object
    events = await engine.events(key)
    held = (await objects(opa, [whole]))[whole]
    picture = (await opa.query("picture", {"objects": [str(whole)]})).get(str(whole), {})
    found_wrong = await opa.query("problems", {"objects": [str(whole)], "ancestors": True})
    problems = await with_suggestions(opa, found_wrong, {})
    if whole.type_id in await opa.query("kinds_in_force", {}):
        found = await statuses(opa, with_objects=False, kind=whole.type_id, with_affected=False)
        status = next((entry for entry in found.policies if entry["policy"] == str(whole)), None)
        impact = await policy_impact(engine, {"policy": str(whole), "fields": True})
        return Description(whole, held, [], [], [], [], [], problems, events, status, impact)
    explained = [_keep_paths(entry, key) for entry in await explained_at(opa, key)]
    rules: list[str] = (await opa.query("rules_above", {"backends": [str(whole)]})).get(str(whole), [])
    for rule in rules[:_RULES]:
        explained += await explained_at(opa, parse_key(rule))
    attached = policies_at(picture)
    named = {entry["policy"] for entry in attached}
    return Description(
        key=key,
        object=held,
        parents=sorted({*_find_parents(whole, picture, explained), *rules}),
        children=await _find_children(opa, whole) if picture else [],
        attached=attached,
        inherited=_find_inherited(explained, whole, named),
        explained=explained,
        problems=problems,
        events=events,
    )


def _keep_paths(entry: Entry, key: Key) -> Entry:
    """Return an explanation with only the paths through a node: a route below two Gateways has a path for each."""
    return {
        **entry,
        "paths": [at_path for at_path in entry["paths"] if any(_is_in(node, key) for node in at_path["path"])],
    }


def _is_in(node: str, key: Key) -> bool:
    found = parse_key(node)
    return found == key or (not key.section and found.object == key.object)


def _find_parents(key: Key, picture: Mapping[str, Any], explained: Sequence[Entry]) -> list[str]:
    """Return the nodes above: those that the picture links to the object, and those before it on a path of a policy."""
    found = {parent for parent, node in picture.get("edges", ()) if parse_key(node).object == key}
    for entry in explained:
        for at_path in entry["paths"]:
            above = _find_above(at_path["path"], key)
            if above and len(above) < len(at_path["path"]):
                found.add(above[-1])
    return sorted(parent for parent in found if parse_key(parent).object != key)


async def _find_children(opa: Opa, key: Key) -> list[str]:
    below = await opa.query("tree", {"root": str(key), "depth": _DEPTH})
    own: list[str] = below["nodes"].get(str(key), {}).get("children", [])
    found: dict[str, None] = {}
    for child in own:
        if parse_key(child).object == key:  # a section: the nodes below it count
            found.update(dict.fromkeys(below["nodes"].get(child, {}).get("children", []) or [child]))
        else:
            found[child] = None
    return list(found)


def _find_inherited(explained: Sequence[Entry], key: Key, named: set[str]) -> list[Entry]:
    """Return the policies attached above the object on the paths through it, each with its outcomes on these.

    `incomplete` has the reasons if an outcome is not certain.
    """
    outcomes: dict[tuple[str, str], set[str]] = {}
    doubts: dict[tuple[str, str], set[str]] = {}
    for entry in explained:
        for at_path in entry["paths"]:
            above = _find_above(at_path["path"], key)
            for policy in at_path["policies"]:
                if policy["target"] in above and policy["policy"] not in named:
                    name = (policy["policy"], policy["target"])
                    outcomes.setdefault(name, set()).add(policy.get("outcome", "Failed"))
                    doubts.setdefault(name, set()).update(at_path.get("incomplete", ()))
    return [
        {
            "policy": policy,
            "at": at,
            "outcome": found.pop() if len(found) == 1 else "PartiallyProgrammed",
            **({"incomplete": sorted(doubts[policy, at])} if doubts[policy, at] else {}),
        }
        for (policy, at), found in sorted(outcomes.items())
    ]


def _find_above(path: Sequence[str], key: Key) -> list[str]:
    """Return the nodes of a path before those of the object."""
    return list(itertools.takewhile(lambda node: parse_key(node).object != key, path))
