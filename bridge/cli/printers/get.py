"""What `bridge get` lists, as tables and as names."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridge.answers.targets import short_key
from bridge.cli.plain import plain
from bridge.cli.printers.effective import MARKS, name_of
from bridge.cli.printers.table import Column, Table
from bridge.model.keys import CLUSTER, parse_key

Entry = Mapping[str, Any]

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))  # seconds, as kubectl writes ages


def policies_table(entries: Sequence[Entry], wide: bool = False) -> list[Table]:
    """A row for each policy. Wide: also the mode and the message."""
    columns = [
        Column("NAMESPACE"),
        Column("NAME"),
        Column("KIND"),
        Column("CLASS", spare=not wide),
        Column("MODE", painted=True),
        Column("TARGET", long=True),
        Column("ACCEPTED", painted=True),
        Column("PROGRAMMED", painted=True),
        Column("SCOPES"),
        Column("AGE"),
        Column("MESSAGE", long=True),
    ]
    now = dt.datetime.now(dt.UTC)
    rows: list[Sequence[str]] = []
    for entry in entries:
        key = parse_key(entry["policy"])
        rows.append(
            [
                "" if key.namespace == CLUSTER else key.namespace,
                key.name,
                key.kind,
                entry["class"],
                entry["mode"] if wide else "",
                ", ".join(entry["targets"]) or "<none>",
                entry["accepted"],
                entry["programmed"],
                f"{entry['scopes']['affected']}/{entry['scopes']['all']}",
                age(entry["created"], now),
                entry["message"] if wide else "",
            ]
        )
    return [Table(columns, rows).without_empty("NAMESPACE", "MODE", "AGE", "MESSAGE")]


def kinds_table(entries: Sequence[Entry], wide: bool = False) -> list[Table]:
    """A row for each policy kind."""
    columns = [
        Column("KIND"),
        Column("CLASS", spare=not wide),
        Column("MODE", painted=True),
        Column("ACTS AT"),
        Column("STRATEGIES", long=True),
        Column("SOURCE", long=True),
        Column("ACCEPTED", painted=True),
        Column("MESSAGE", long=True),
    ]
    rows: list[Sequence[str]] = [
        [
            entry["policyKind"],
            entry["class"],
            entry["mode"],
            entry["effectiveTarget"],
            ", ".join(entry["strategies"]),
            ", ".join(entry["source"]),
            entry["accepted"],
            entry["message"],
        ]
        for entry in entries
    ]
    return [Table(columns, rows).without_empty("MESSAGE")]


def targets_table(entries: Sequence[Entry], wide: bool = False) -> list[Table]:
    """A row for each effective target and policy kind."""
    columns = [Column("TARGET"), Column("POLICY KIND"), Column("PATHS"), Column("POLICIES", painted=True, long=True)]
    rows: list[Sequence[str]] = [
        [
            short_key(parse_key(entry["target"])),
            entry["policyKind"] if wide else entry["policyKind"].partition("/")[2],
            str(entry["paths"]),
            ", ".join(name_of(parse_key(one["policy"])) + MARKS.get(one["outcome"], "") for one in entry["policies"]),
        ]
        for entry in entries
    ]
    return [Table(columns, rows)]


TABLES: Mapping[str, Callable[[Sequence[Entry], bool], list[Table]]] = {
    "policies": policies_table,
    "policykinds": kinds_table,
    "targets": targets_table,
}


def print_names(entries: Sequence[Entry]) -> None:
    """A key a line, each once."""
    fields = ("policy", "target", "policyKind")
    for name in dict.fromkeys(next(entry[field] for field in fields if field in entry) for entry in entries):
        print(plain(name) if sys.stdout.isatty() else name)


def age(created: str | None, now: dt.datetime) -> str:
    """The time since a creationTimestamp, in its largest unit; empty where there is none, or none that can be read."""
    try:
        seconds = int((now - dt.datetime.fromisoformat(created or "")).total_seconds())
    except (ValueError, TypeError):
        return ""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "0s"
