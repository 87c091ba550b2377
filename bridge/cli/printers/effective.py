"""Effective policies as tables: a row for each path to a target; and the explanation of one.

An explanation has the stack, the steps, the spec with origins, and rejected policies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bridge.cli.printers.table import Column, Table
from bridge.model.keys import CLUSTER, Key, parse_key
from bridge.model.text import TIE
from bridge.queries.names import first_of, short_key

# Marks after the name of a policy that is not Programmed.
MARKS = {"PartiallyProgrammed": f"{TIE}(partly)", "Overridden": f"{TIE}(overridden)"}
_PLAIN = re.compile(r"[^\s,=\"'{}\[\]]+")  # a text that needs no quotes


def effective_tables(entries: Sequence[Mapping[str, Any]], wide: bool = False) -> list[Table]:
    """Return the tables for the query `effective`.

    A wide table has whole paths, strategies, and the origin of each field.
    """
    columns = [
        Column("TARGET"),
        Column("POLICY KIND"),
        Column("VIA", long=wide),
        Column("EFFECTIVE", painted=True, long=True),
        Column("POLICIES", painted=True, long=True),
    ]
    rows: list[Sequence[str]] = []
    for entry in entries:
        target = parse_key(entry["target"])
        for at_path in entry["paths"]:
            path = [parse_key(node) for node in at_path["path"] if node.count("/") == 3]
            via = whole_path(path) if wide else via_text(path, target)
            origins = at_path.get("origins", {}) if wide else {}
            policies = ", ".join(policy_text(policy, wide=wide) for policy in at_path["policies"])
            kind = entry["policyKind"] if wide else entry["policyKind"].partition("/")[2]
            rows.append([short_key(target), kind, via, _effective(at_path, origins), policies])
    return [Table(columns, rows)]


def whole_path(path: Iterable[Key]) -> str:
    """Return every node of a path."""
    return " > ".join(short_key(key) for key in path)


def via_text(path: Sequence[Key], target: Key) -> str:
    """Return the nodes that distinguish paths to a target: a section replaces its object, a Gateway its class."""
    nodes = []
    for index, key in enumerate(path):
        after = path[index + 1] if index + 1 < len(path) else None
        above_own_section = after is not None and after.object == key.object
        if key.object == target.object or above_own_section or (key.kind == "GatewayClass" and after is not None):
            continue
        if key.kind != "Namespace":
            nodes.append(name_of(key))
    return " > ".join(nodes) or "-"


def name_of(key: Key) -> str:
    """Return `<namespace>/<name>[#section]`, or only the name of a cluster-scoped object."""
    namespace = "" if key.namespace == CLUSTER else f"{key.namespace}/"
    return f"{namespace}{key.name}" + (f"#{key.section}" if key.section else "")


def policy_text(policy: Mapping[str, Any], *, wide: bool = False) -> str:
    """Return a policy of a stack with its outcome; wide also with its target, strategy and the overriding policies."""
    name = name_of(parse_key(policy["policy"]))
    if not wide:
        return name + MARKS.get(policy.get("outcome", ""), "")
    target = short_key(parse_key(policy["target"]))
    by = ", ".join(name_of(parse_key(key)) for key in policy.get("overriddenBy", ()))
    outcome = policy.get("outcome", "Failed")
    return f"{name} on {target} ({policy['strategy']}: {outcome}{f', overridden by {by}' if by else ''})"


def _effective(at_path: Mapping[str, Any], origins: Mapping[str, Any]) -> str:
    if "error" in at_path:
        return f"error: {at_path['error']['message']}"
    return compact(at_path["spec"], origins)


def compact(spec: Any, origins: Mapping[str, Any] | None = None) -> str:
    """Return a spec on one line, `colors.accent=blue, theme=dark`; with `origins` also each field's policy."""
    return ", ".join(_fields(spec, origins or {}).values()) or "{}"


def leaves_of(at_path: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """Return each field of an effective policy in the form of `compact`, with its policy."""
    return _fields(at_path["spec"], at_path["origins"])


def _fields(spec: Any, origins: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    if isinstance(spec, list):  # an additive kind has one item for each policy, wherever it is listed
        return {
            (origins.get(f"/{place}", str(place)),): f"{{{compact(item)}}}" + _origin([str(place)], origins)
            for place, item in enumerate(spec)
        }
    return {
        path: f"{'.'.join(path) or '(all)'}={value_text(value)}" + _origin(path, origins)
        for path, value in _leaves(spec, ())
    }


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        for name in sorted(value):
            yield from _leaves(value[name], (*path, name))
    elif path or not isinstance(value, Mapping):
        yield path, value


def value_text(value: Any) -> str:
    """Return a value of a spec on one line: a text without quotes if it needs none, anything else as JSON."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.isprintable():
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _origin(path: Sequence[str], origins: Mapping[str, Any]) -> str:
    pointer = "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)
    origin = origins.get(pointer)
    return f" [{origin_text(origin)}]" if origin else ""


def origin_text(origin: str | Sequence[str]) -> str:
    """Return the policy, or policies, that a field comes from."""
    keys = [origin] if isinstance(origin, str) else origin
    return "+".join(name_of(parse_key(key)) for key in keys)


_SHOWN = 8  # targets that are listed if many have the same explanation

Entry = Mapping[str, Any]


def explanation(entries: Sequence[Entry], wide: bool = False) -> list[Table | str]:
    """Return the tables for the query `explain`; equal explanations of several targets once.

    Wide: also each step's result.
    """
    blocks: list[Table | str] = []
    for group in _alike(entries):
        blocks += _of_target(group[0], wide)
        if others := [short_key(parse_key(entry["target"])) for entry in group[1:]]:
            blocks.append(f"The same, except for the last nodes of paths, at {first_of(others, _SHOWN)}")
    return blocks


def _alike(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group entries that differ only in their targets, and so in the ends of paths."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        paths = [
            {**path, "path": path["path"][:-1] if len(path["path"]) < 3 else path["path"][:-2]}
            for path in entry["paths"]
        ]
        same = json.dumps([entry["policyKind"], paths, entry["attachments"], entry["links"]], sort_keys=True)
        groups.setdefault(same, []).append(entry)
    return list(groups.values())


def _of_target(entry: Entry, wide: bool) -> Iterator[Table | str]:
    target = parse_key(entry["target"])
    title = f"{entry['policyKind'].partition('/')[2]} at {short_key(target)}"
    paths = entry["paths"]
    for number, at_path in enumerate(paths, 1):
        nodes = [parse_key(node) for node in at_path["path"] if node.count("/") == 3]
        via = via_text(nodes, target)
        which = f" via {via}" if via != "-" else ""
        source = f" for requests from {at_path['sourceNamespace']}" if "sourceNamespace" in at_path else ""
        yield f"{title}{which}{source}" + (f" (path {number} of {len(paths)})" if len(paths) > 1 else "")
        yield _stack(nodes, at_path)
        yield _steps(at_path, wide)
        yield _spec(at_path)
    if not paths:
        yield f"{title}: no policy counts here"
    yield _left_out(entry)


def _stack(nodes: Sequence[Key], at_path: Entry) -> Table:
    """Return every node of the path, from the root, with the policies that are attached there."""
    columns = [
        Column("PATH, FROM THE TOP"),
        Column("POLICY"),
        Column("STRATEGY"),
        Column("OUTCOME", painted=True, long=True),
    ]
    rows: list[Sequence[str]] = []
    for node in nodes:
        attached = [policy for policy in at_path["policies"] if policy["target"] == str(node)]
        place = short_key(node)
        for policy in attached:
            rows.append([place, name_of(parse_key(policy["policy"])), policy["strategy"], _outcome(policy)])
            place = ""
        if not attached:
            rows.append([place, "-", "", ""])
    return Table(columns, rows)


def _outcome(policy: Entry) -> str:
    by = ", ".join(name_of(parse_key(key)) for key in policy.get("overriddenBy", ()))
    if policy.get("outcome") == "PartiallyProgrammed":
        return f"partly, overridden{TIE}by {by}"
    outcome: str = policy.get("outcome", "Failed")
    return f"{outcome}{TIE}by {by}" if by else outcome


def _steps(at_path: Entry, wide: bool) -> Table:
    """Return the steps of the fold in order."""
    columns = [
        Column("STEP"),
        Column("ESTABLISHED"),
        Column("CHALLENGER"),
        Column("STRATEGY"),
        Column("WINS"),
        Column("RESULT", long=True),
    ]
    rows: list[Sequence[str]] = [
        [
            str(number),
            _side(step["established"]),
            _side(step["challenger"]),
            step["strategy"],
            _winner(step),
            _result(step) if wide else "",
        ]
        for number, step in enumerate(at_path.get("steps", ()), 1)
    ]
    return Table(columns, rows).without_empty("RESULT")


def _side(policies: Sequence[str]) -> str:
    return " + ".join(dict.fromkeys(name_of(parse_key(policy)) for policy in policies))


def _winner(step: Entry) -> str:
    side: str = step["winner"].lower()
    return f"{side} alone" if step["strategy"].startswith("Atomic") else side


def _result(step: Entry) -> str:
    from bridge.cli.printers.effective import compact

    return f"error: {step['error']['message']}" if "error" in step else compact(step["result"])


def _spec(at_path: Entry) -> Table:
    """Return each field of the effective spec with its value and origin."""
    if "error" in at_path:
        return Table([Column("ERROR", painted=True)], [[f"error: {at_path['error']['message']}"]])
    columns = [Column("EFFECTIVE FIELD"), Column("VALUE", long=True), Column("FROM")]
    rows: list[Sequence[str]] = [
        [_field(pointer), _value_at(at_path["spec"], pointer), origin_text(origin)]
        for pointer, origin in sorted(at_path["origins"].items(), key=lambda item: _order(item[0]))
    ]
    return Table(columns, rows)


def _segments(pointer: str) -> list[str]:
    return [segment.replace("~1", "/").replace("~0", "~") for segment in pointer.split("/")[1:]]


def _order(pointer: str) -> list[tuple[int, str]]:
    """Sort items of lists by number, fields by name."""
    return [(int(segment), "") if segment.isdecimal() else (-1, segment) for segment in _segments(pointer)]


def _field(pointer: str) -> str:
    return ".".join(_segments(pointer)) or "(all)"


def _value_at(spec: Any, pointer: str) -> str:
    value = spec
    for segment in _segments(pointer):
        if isinstance(value, Mapping) and segment in value:
            value = value[segment]
        elif isinstance(value, list) and segment.isdecimal() and int(segment) < len(value):
            value = value[int(segment)]
        else:
            return "(taken away)"  # by a null, which is a leaf of its policy (semantics F3)
    return value_text(value)


def _left_out(entry: Entry) -> Table:
    """Return the policies and links that do not count."""
    columns = [Column("DOES NOT COUNT HERE"), Column("REASON", painted=True), Column("WHY", long=True)]
    rows: list[Sequence[str]] = [
        [
            f"{name_of(parse_key(lost['policy']))} on {short_key(parse_key(lost['target']))}",
            lost["reason"],
            lost["message"],
        ]
        for lost in entry["attachments"]
    ]
    rows += [
        [
            f"{short_key(parse_key(link['child']))} below {short_key(parse_key(link['parent']))}",
            link["reason"],
            link["message"],
        ]
        for link in entry["links"]
    ]
    return Table(columns, rows)
