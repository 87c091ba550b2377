"""The explanation of an effective policy: the stack, the steps, the spec with origins, and rejected policies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bridge.cli.printers.effective import name_of, origin_text, value_text, via_text
from bridge.cli.printers.table import Column, Table
from bridge.cli.terminal import TIE
from bridge.model.keys import Key, parse_key
from bridge.queries.names import first_of, short_key

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
        shown = short_key(node)
        for policy in attached:
            rows.append([shown, name_of(parse_key(policy["policy"])), policy["strategy"], _outcome(policy)])
            shown = ""
        if not attached:
            rows.append([shown, "-", "", ""])
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
