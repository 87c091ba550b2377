"""The output of `bridge describe`: sections as in kubectl describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.printers.differences import impact_tables, problems_table
from bridge.cli.printers.effective import compact, effective_tables, name_of
from bridge.cli.printers.table import Column, Table
from bridge.model.keys import CLUSTER, parse_key
from bridge.queries.names import first_of, short_key

if TYPE_CHECKING:
    from bridge.queries.description import Description

_MOST = 20  # nodes below that are listed; wide: all

Entry = Mapping[str, Any]


def description(found: Description, wide: bool = False) -> list[Table | str]:
    """Return the sections that have content, each with its title."""
    return [block for block in _blocks(found, wide) if isinstance(block, str) or block.rows]


def _blocks(found: Description, wide: bool) -> Iterator[Table | str]:
    yield _summary(found, wide)
    yield from _titled("Conditions", _conditions(found.object))
    if found.status is not None:
        yield from _titled("Status as the bridge computes it", _wanted(found.status))
        yield from _titled("Reports that differ", _differing(found.status))
    if found.impact is not None:
        for table in impact_tables(found.impact, wide):
            yield from _titled("", table)
    yield from _titled("Policies attached here", _attached(found.attached))
    yield from _titled("Policies inherited from above", _inherited(found.inherited))
    entries = [entry for entry in found.explained if entry["paths"]]
    for table in effective_tables(entries, wide):
        yield from _titled("Effective policies", table)
    yield from _titled("Problems", problems_table(found.problems, lambda _: None).without("OBJECT"))
    yield from _titled("Events", _events(found.events))


def _titled(title: str, table: Table) -> Iterator[Table | str]:
    if table.rows:
        if title:
            yield title
        yield table


def _summary(found: Description, wide: bool) -> Table:
    key, obj = found.key, found.object
    metadata = obj["metadata"]
    most = len(found.children) if wide else _MOST
    rows: list[Sequence[str]] = [
        ["Name", key.name],
        ["Namespace", "" if key.namespace == CLUSTER else key.namespace],
        ["Kind", f"{key.kind} ({obj.get('apiVersion', '')})"],
        ["Section", key.section],
        ["Labels", _pairs(metadata.get("labels"))],
        ["Annotations", _pairs(metadata.get("annotations"))],
        ["Created", str(metadata.get("creationTimestamp") or "")],
        ["Above", ", ".join(short_key(parse_key(node)) for node in found.parents)],
        ["Below", first_of([short_key(parse_key(node)) for node in found.children], most)],
    ]
    rows += [["Spec", compact(obj.get("spec") or {})]] if found.impact is not None else []
    return Table([Column("FIELD"), Column("VALUE", long=True)], [row for row in rows if row[1]])


def _pairs(value: Any) -> str:
    return ", ".join(f"{name}={text}" for name, text in sorted(value.items())) if isinstance(value, Mapping) else ""


def _conditions(obj: Entry) -> Table:
    """Return the object's current conditions, of all writers; those of parents and listeners with their place."""
    columns = [
        Column("AT"),
        Column("TYPE"),
        Column("STATUS", painted=True),
        Column("REASON"),
        Column("MESSAGE", long=True),
    ]
    rows: list[Sequence[str]] = []
    status = obj.get("status")
    for place, holder in _holders(status if isinstance(status, Mapping) else {}):
        conditions = holder.get("conditions")
        rows += [
            [place, *(str(one.get(name, "")) for name in ("type", "status", "reason", "message"))]
            for one in (conditions if isinstance(conditions, list) else ())
            if isinstance(one, Mapping)
        ]
    return Table(columns, rows).without_empty("AT")


def _holders(status: Entry) -> Iterator[tuple[str, Entry]]:
    yield "", status
    for field, name in (("listeners", "name"), ("parents", "parentRef"), ("ancestors", "ancestorRef")):
        parts = status.get(field)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, Mapping):
                place = part.get(name)
                yield _place(place) if isinstance(place, Mapping) else f"#{place}", part


def _place(ref: Entry) -> str:
    namespace = f"{ref['namespace']}/" if ref.get("namespace") else ""
    section = f"#{ref['sectionName']}" if ref.get("sectionName") else ""
    return f"{ref.get('kind', 'Gateway')}/{namespace}{ref.get('name', '')}{section}"


def _wanted(status: Entry) -> Table:
    from bridge.queries.statuses import condition_groups

    columns = [Column("TYPE"), Column("STATUS", painted=True), Column("REASON"), Column("MESSAGE", long=True)]
    groups = condition_groups(status)
    rows: list[Sequence[str]] = [
        [str(one.get(name, "")) for name in ("type", "status", "reason", "message")]
        for group in groups
        for one in group
    ]
    return Table(columns, list(dict.fromkeys(map(tuple, rows))))


def _differing(status: Entry) -> Table:
    from bridge.queries.statuses import differences

    return Table([Column("DIFFERENCE", long=True)], [[text] for text in differences(status)])


def _attached(policies: Sequence[Entry]) -> Table:
    columns = [Column("KIND"), Column("POLICY"), Column("AT"), Column("ACCEPTED", painted=True), Column("REASON")]
    rows: list[Sequence[str]] = []
    for entry in policies:
        key = parse_key(entry["policy"])
        accepted = "True" if entry["accepted"] else "False"
        rows.append([key.kind, name_of(key), short_key(parse_key(entry["at"])), accepted, entry.get("reason", "")])
    return Table(columns, rows).without_empty("REASON")


def _inherited(policies: Sequence[Entry]) -> Table:
    columns = [Column("KIND"), Column("POLICY"), Column("AT"), Column("OUTCOME", painted=True)]
    rows: list[Sequence[str]] = []
    for entry in policies:
        key = parse_key(entry["policy"])
        rows.append([key.kind, name_of(key), short_key(parse_key(entry["at"])), entry["outcome"]])
    return Table(columns, rows)


def _events(events: Sequence[Entry]) -> Table:
    columns = [
        Column("LAST SEEN"),
        Column("TYPE", painted=True),
        Column("REASON"),
        Column("FROM"),
        Column("MESSAGE", long=True),
    ]
    rows: list[Sequence[str]] = []
    for event in events:
        times = f" (x{event['count']})" if event["count"] != 1 else ""
        rows.append([event["last"] + times, event["type"], event["reason"], event["from"], event["message"]])
    return Table(columns, rows)
