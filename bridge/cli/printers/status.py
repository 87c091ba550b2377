"""Statuses of policies, placement and violations of Constraints, as tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.printers.effective import name_of
from bridge.cli.printers.table import Column, Table
from bridge.model.keys import CORE, Key, parse_key
from bridge.queries.names import short_key
from bridge.queries.statuses import conditions_in, differences

if TYPE_CHECKING:
    from bridge.queries.asking import Entry
    from bridge.queries.statuses import Statuses
    from bridge.remediator.placement.decisions import PlacementFinding


def status_tables(answer: Statuses, wide: bool = False) -> list[Table]:
    """Return a row for each policy and, if its kind reports by ancestor, for each ancestor.

    Observed policies also have the reports of their controllers, and a second table has the differences.
    """
    message = Column("MESSAGE", long=True, cut=not wide)
    policies = Table(
        [
            Column("POLICY"),
            Column("KIND"),
            Column("MODE", painted=True),
            Column("ANCESTOR"),
            Column("ACCEPTED", painted=True),
            Column("PROGRAMMED", painted=True),
            Column("REPORTED", painted=True),
            message,
        ],
        [row for entry in answer.policies for row in _policy_rows(entry, wide)],
    )
    affected = Table(
        [Column("AFFECTED"), Column("CONDITION"), message],
        [
            [short_key(parse_key(entry["object"])) + place, condition["type"], condition["message"]]
            for entry in answer.affected
            for place, condition in conditions_in(entry)
        ],
    )
    differing = Table(
        [Column("POLICY"), Column("KIND"), Column("DIFFERENCE", long=True)],
        [[name_of(key), key.type_id if wide else key.kind, text] for key, text in _differing(answer)],
    )
    # Only Observe is marked; written statuses are the normal case.
    return [policies.without_empty("MODE", "ANCESTOR", "REPORTED"), affected, differing]


def _differing(answer: Statuses) -> Iterator[tuple[Key, str]]:
    for entry in answer.policies:
        for text in differences(entry):
            yield parse_key(entry["policy"]), text


def _policy_rows(entry: Mapping[str, Any], wide: bool) -> Iterator[Sequence[str]]:
    key = parse_key(entry["policy"])
    kind = key.type_id if wide else key.kind
    mode = entry["mode"] if wide or entry["mode"] == "Observe" else ""
    # Ancestors are for the wide table and for policies with several; a single one is usually the target itself.
    ancestors = entry.get("ancestors")
    if ancestors is None:
        yield [name_of(key), kind, mode, "", *_condition_cells(entry["conditions"], entry)]
        return
    for ancestor in ancestors:
        ancestor_text = _ancestor(ancestor["ancestorRef"]) if wide or len(ancestors) > 1 else ""
        yield [name_of(key), kind, mode, ancestor_text, *_condition_cells(ancestor["conditions"], entry)]
    if not ancestors:
        yield [name_of(key), kind, mode, "", "", "", _reported(entry), ""]


def _reported(entry: Mapping[str, Any]) -> str:
    """Return one word per controller for its report on a policy, marked if it is old or contradicts the bridge."""
    marks = {
        one["says"] + (" (outdated)" if one["outdated"] else " (differs)" if "difference" in one else ""): None
        for one in entry.get("reported", ())
    }
    return ", ".join(marks)


def _condition_cells(conditions: Sequence[Mapping[str, Any]], entry: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Return Accepted, the reason of Programmed (or its replacement), the reports, and the more important message."""
    by_type = {condition["type"]: condition for condition in conditions}
    accepted = by_type.get("Accepted", {"status": "", "reason": "", "message": ""})
    outcomes = [condition for condition in conditions if condition["type"] != "Accepted"]
    if not outcomes:
        return accepted["status"], "", _reported(entry), f"{accepted['reason']}: {accepted['message']}"
    message = "; ".join(condition["message"] for condition in outcomes)
    if "but not for" in accepted["message"]:  # some of its targets are rejected, which must not be lost
        message = f"{accepted['message']}; {message}"
    return accepted["status"], ", ".join(condition["reason"] for condition in outcomes), _reported(entry), message


def _ancestor(reference: Mapping[str, str]) -> str:
    group = reference.get("group", "") or CORE
    namespace = reference.get("namespace", "-")
    return short_key(Key(group, reference["kind"], namespace, reference["name"], reference.get("sectionName", "")))


def placement_tables(findings: Sequence[PlacementFinding], wide: bool = False) -> list[Table]:
    """Return a row for each annotation that differs (`wide`: each one), and for each object without placement."""
    wanted = Table([Column("OBJECT"), Column("ANNOTATION"), Column("NOW", long=True), Column("WANTED", long=True)])
    not_placed = Table([Column("NOT PLACED"), Column("WHY", long=True)])
    for one in findings:
        name = short_key(parse_key(one.key))
        annotations = one.decided.annotations
        chosen = one.decided.decision.annotations if wide and not one.troubles else one.changes
        wanted.rows += [[name, key, str(annotations.get(key, "")), value] for key, value in sorted(chosen.items())]
        not_placed.rows += [[name, why] for why in one.troubles]
    return [wanted, not_placed]


def violation_table(rows: Sequence[Entry], *, wide: bool = False) -> Table:
    """Return a row for each violation; `wide` adds the policy's details."""
    columns = [Column("CONSTRAINT"), Column("ACTION"), Column("OBJECT"), Column("MESSAGE", long=True)]
    columns += [Column("DETAILS", long=True)] if wide else []
    return Table(columns, [_cells(row, wide=wide) for row in rows])


def _cells(row: Entry, *, wide: bool) -> list[str]:
    cells = [row["constraint"], row["enforcementAction"], short_key(parse_key(row["object"])), row["message"]]
    return [*cells, json.dumps(row["details"], sort_keys=True)] if wide else cells
