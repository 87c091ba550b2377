"""The rule that serves a request, as tables: the path, the backends, the policies, or the nearest rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bridge.cli.printers.effective import effective_tables
from bridge.cli.printers.table import Column, Table
from bridge.model.keys import parse_key
from bridge.queries.names import short_key

Entry = Mapping[str, Any]


def served_tables(answer: Entry, wide: bool = False) -> list[Table | str]:
    """Return the tables for the query `request`."""
    if not answer["rule"]:
        return [_not_served(answer["nearest"], answer["failure"]), _nearest(answer["nearest"]), _also(answer["also"])]
    return [
        _way(answer),
        _backends(answer["backends"]),
        _filter_backends(answer["filterBackends"]),
        *_failure(answer["failure"]),
        *effective_tables(answer["policies"], wide),
        _also(answer["also"]),
        *(f"{warning['message']}." for warning in answer["warnings"]),
    ]


def _way(answer: Entry) -> Table:
    """Return the nodes that the request passes, one in each row."""
    rows: list[Sequence[str]] = [
        [title, short_key(parse_key(answer[title.lower()]))]
        for title in ("GATEWAY", "LISTENER", "ROUTE", "RULE")
        if answer[title.lower()]
    ]
    rows += [["FILTER", _filter(one)] for one in answer["filters"]]
    return Table([Column("SERVED BY"), Column("", long=True)], rows)


def _filter(one: Entry) -> str:
    """`RequestRedirect {"scheme":"https"}`."""
    rest = [value for name, value in one.items() if name != "type"]
    text = json.dumps(rest[0] if len(rest) == 1 else rest, ensure_ascii=False, separators=(",", ":")) if rest else ""
    return f"{one.get('type', '')} {text}".strip()


def _backends(backends: Sequence[Entry]) -> Table:
    """Return the backends of the rule, with their share of the requests."""
    total = sum(backend["weight"] for backend in backends)
    rows: list[Sequence[str]] = []
    for backend in backends:
        share = f"{100 * backend['weight'] / total:.3g}%" if total else "0%"
        rows.append([*_destination(backend), str(backend["weight"]), share, _problem(backend)])
    columns = [Column("BACKEND"), Column("PORT"), Column("WEIGHT"), Column("SHARE"), Column("FAILS", long=True)]
    return Table(columns, rows).without_empty("FAILS")


def _filter_backends(backends: Sequence[Entry]) -> Table:
    """Return the backends of filters, in addition to the rule's own."""
    rows: list[Sequence[str]] = [
        [f"{one['filter']} ({one['place']})", *_destination(one), _problem(one)] for one in backends
    ]
    columns = [Column("FILTER"), Column("BACKEND"), Column("PORT"), Column("FAILS", long=True)]
    return Table(columns, rows).without_empty("FAILS")


def _destination(backend: Entry) -> tuple[str, str]:
    target = short_key(parse_key(backend["target"])) if backend["target"] else "-"
    return target, "" if backend["port"] is None else str(backend["port"])


def _problem(backend: Entry) -> str:
    problem = backend["problem"]
    return f"{problem['reason']}: {problem['message']}" if problem else ""


def _failure(failure: Entry | None) -> list[str]:
    return [f"Every request fails ({failure['status']}): {failure['message']}."] if failure else []


def _not_served(nearest: Entry, failure: Entry | None) -> str:
    if nearest["reason"] == "CannotTell":
        return f"{nearest['message']}."
    status = f" ({failure['status']})" if failure else ""
    return f"No rule serves it{status}. {nearest['message']}."


def _nearest(nearest: Entry) -> Table:
    rows: list[Sequence[str]] = [
        [short_key(parse_key(one["node"])), one["reason"], one["message"]] for one in nearest["candidates"]
    ]
    return Table([Column("NEAREST"), Column("REASON"), Column("WHY NOT", long=True)], rows)


def _also(others: Sequence[Entry]) -> Table:
    """Return other listeners that accept such a request."""
    rows: list[Sequence[str]] = [
        [
            short_key(parse_key(other["listener"] or other["gateway"])),
            short_key(parse_key(other["rule"])) if other["rule"] else "no rule serves it there",
        ]
        for other in others
    ]
    return Table([Column("OTHER LISTENERS"), Column("SERVED BY")], rows)
