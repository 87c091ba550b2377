"""Differences of effective policies, the impact of a policy, and problems, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridge.cli.printers.effective import leaves_of, name_of, policy_text, via_text, whole_path
from bridge.cli.printers.table import Column, Table
from bridge.model.keys import Key, parse_key
from bridge.queries.names import first_of, short_key

_NAMED = 3  # targets that a row lists; a wide table lists all

Side = Mapping[str, Any] | None


def differences_table(differences: Sequence[Mapping[str, Any]], wide: bool = False) -> Table:
    """Return a row for each set of targets with equal changes of a policy kind, on paths with the same nodes.

    If a difference is for requests from one namespace only, a column names that namespace.
    """
    alike: dict[tuple[str, str, str, str, str], list[str]] = {}
    for difference in differences:
        before, after = (
            _fields(difference["before"], difference["after"]),
            _fields(difference["after"], difference["before"]),
        )
        if before == after:
            before, after = (
                _policies(difference["before"], difference["after"]),
                _policies(difference["after"], difference["before"]),
            )
        key = parse_key(difference["target"])
        path = [parse_key(node) for node in difference["path"] if node.count("/") == 3]
        via = whole_path(path) if wide else via_text(path, key)
        source = difference.get("sourceNamespace", "")
        targets = alike.setdefault((difference["policyKind"], via, source, before or "-", after or "-"), [])
        target = short_key(key)
        if target not in targets:
            targets.append(target)
    rows: list[Sequence[str]] = [
        [kind if wide else kind.partition("/")[2], _targets(targets, wide=wide), via, source, before, after]
        for (kind, via, source, before, after), targets in alike.items()
    ]
    columns = [
        Column("POLICY KIND"),
        Column("TARGETS", long=True),
        Column("VIA", long=wide),
        Column("REQUESTS FROM"),
        Column("BEFORE", painted=True, long=True),
        Column("AFTER", painted=True, long=True),
    ]
    return Table(columns, rows).without_empty("REQUESTS FROM")


def _targets(targets: Sequence[str], *, wide: bool) -> str:
    # "and 1 more" is not shorter than a name.
    return first_of(targets, len(targets) if wide or len(targets) == _NAMED + 1 else _NAMED)


def _fields(side: Side, other: Side) -> str:
    """Return the fields of one side that the other side lacks, or has with another value or another policy."""
    if side is None:
        return "(no policy)"
    if "error" in side:
        return f"error: {side['error']['message']}"
    theirs = leaves_of(other) if other and "error" not in other else {}
    differing = {path: field for path, field in leaves_of(side).items() if theirs.get(path) != field}
    return ", ".join(differing.values()) or ("{}" if not side["spec"] else "")


def _policies(side: Side, other: Side) -> str:
    """Return the policies of one side with another outcome on the other side, if the specs are equal."""
    theirs = {policy_text(policy) for policy in other["policies"]} if other else set()
    texts = [policy_text(policy) for policy in side["policies"]] if side else []
    return ", ".join(text for text in texts if text not in theirs)


def impact_tables(answer: Mapping[str, Any], wide: bool = False) -> list[Table]:
    """Return the tables for the query `impact`: the counts, then the changes if the policy were deleted."""
    counts = answer["counts"]
    outcomes = [f"{name} on {number:,}" for name, number in counts["outcomes"].items() if number]
    compared = "" if counts["compared"] == counts["scopes"] else f" (of {counts['compared']:,} compared)"
    about = Table(
        [Column("POLICY"), Column("KIND"), Column("TARGETS"), Column("PATHS", painted=True)],
        [],
    )
    if counts["scopes"]:
        key = parse_key(answer["policy"])
        row = [name_of(key), key.type_id if wide else key.kind, f"{counts['scopes']:,}{compared}"]
        about.rows.append([*row, ", ".join(outcomes) or "-"])
    kind = {"policyKind": answer["policyKind"]}
    deleted = differences_table([{**kind, **row} for row in answer["ifDeleted"]], wide)
    return [about, deleted.titled(BEFORE="WITH IT", AFTER="WITHOUT IT").without("POLICY KIND")]


Position = Callable[[Key], tuple[str, int] | None]


def problems_table(problems: Sequence[Mapping[str, Any]], position: Position, title: str = "OBJECT") -> Table:
    """Return a row for each problem of the query `problems`; `title` is the header of the objects' column."""
    columns = [Column(title), Column("PROBLEM", painted=True), Column("MESSAGE", long=True), Column("WHERE")]
    rows: list[Sequence[str]] = [
        [
            short_key(parse_key(problem["subject"])),
            problem["reason"],
            problem["message"],
            "{}:{}".format(*place) if (place := place_of(problem, position)) else "",
            causes_text(problem),
        ]
        for problem in problems
    ]
    return Table([*columns, Column("BECAUSE OF")], rows).without_empty("WHERE").without_empty("BECAUSE OF")


def place_of(problem: Mapping[str, Any], position: Position) -> tuple[str, int] | None:
    """Return the file and line to change: of the first changed object that causes the problem, else of its object."""
    places = (position(parse_key(key)) for key in (*problem.get("causes", ()), problem["subject"]))
    return next((place for place in places if place), None)


def causes_text(problem: Mapping[str, Any]) -> str:
    """Return the names of the changed objects that cause a problem of another one."""
    return first_of([short_key(parse_key(key)) for key in problem.get("causes", ())], _NAMED)
