"""The lists of `bridge get`, as tables and as names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridge.cli.printers.effective import MARKS, name_of
from bridge.cli.printers.table import Column, Table
from bridge.model.keys import CLUSTER, parse_key
from bridge.model.text import TIE
from bridge.queries.names import short_key

Entry = Mapping[str, Any]

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))  # seconds, as kubectl writes ages


def policies_table(entries: Sequence[Entry], wide: bool = False) -> list[Table]:
    """Return a row for each policy. Wide: also the mode and the message."""
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
    """Return a row for each policy kind."""
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
    """Return a row for each effective target and policy kind."""
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


def objects_table(entries: Sequence[Entry], wide: bool = False) -> list[Table]:
    """Return a row for each object, with the columns of its kind.

    Wide: policies that are not accepted, with the reason.
    """
    names = list(dict.fromkeys(name for entry in entries for name in entry["details"]))
    routes = any("routes" in entry for entry in entries)
    columns = [
        Column("NAMESPACE"),
        Column("NAME"),
        Column("KIND"),
        *(Column(name, painted=name in _VERDICTS, long=True) for name in names),
        *((Column("ROUTES"),) if routes else ()),
        Column("POLICIES", painted=True, long=True),
        Column("AGE"),
    ]
    now = dt.datetime.now(dt.UTC)
    rows: list[Sequence[str]] = []
    several = len({parse_key(entry["object"]).kind for entry in entries}) > 1
    for entry in entries:
        key = parse_key(entry["object"])
        rows.append(
            [
                "" if key.namespace == CLUSTER else key.namespace,
                key.name,
                key.kind if several or wide else "",
                *(entry["details"].get(name, "") or "<none>" for name in names),
                *((str(entry.get("routes", "")),) if routes else ()),
                ", ".join(_attached(policy) for policy in entry["policies"] if wide or policy["accepted"]) or "<none>",
                age(entry["created"], now),
            ]
        )
    return [Table(columns, rows).without_empty("NAMESPACE", "KIND", "AGE")]


def _attached(policy: Entry) -> str:
    key, at = parse_key(policy["policy"]), parse_key(policy["at"])
    section = f"{TIE}on{TIE}#{at.section}" if at.section else ""
    reason = "" if policy["accepted"] else f"{TIE}({policy.get('reason', 'not accepted')})"
    return f"{key.kind}/{name_of(key)}{section}{reason}"


def modules_table(entries: Sequence[Entry], wide: bool = False) -> list[Table]:
    """Return a row for each object that submits Rego, with its state. Wide: also its packages."""
    columns = [
        Column("NAMESPACE"),
        Column("NAME"),
        Column("KIND"),
        Column("STATE", painted=True),
        Column("PACKAGES", long=True),
        Column("MESSAGE", long=True),
    ]
    rows: list[Sequence[str]] = []
    for entry in entries:
        key = parse_key(entry["name"])
        namespace = "" if key.namespace == CLUSTER else key.namespace
        packages = ", ".join(entry["packages"]) if wide else ""
        rows.append([namespace, key.name, key.kind, entry["state"], packages, entry["message"]])
    return [Table(columns, rows).without_empty("NAMESPACE", "PACKAGES", "MESSAGE")]


_VERDICTS = frozenset({"PROGRAMMED", "ACCEPTED"})
LISTS: Mapping[str, Callable[[Sequence[Entry], bool], list[Table]]] = {
    "policies": policies_table,
    "policykinds": kinds_table,
    "targets": targets_table,
    "modules": modules_table,
    "objects": objects_table,
}


def age(created: str | None, now: dt.datetime) -> str:
    """Return the time since a creationTimestamp, in its largest unit; empty if it is missing or invalid."""
    try:
        seconds = int((now - dt.datetime.fromisoformat(created or "")).total_seconds())
    except (ValueError, TypeError):
        return ""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "0s"
