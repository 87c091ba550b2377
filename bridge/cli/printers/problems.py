"""Problems of objects as a table, with the file and line of a manifest's object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridge.cli.printers.table import Column, Table
from bridge.model.keys import Key, parse_key
from bridge.queries.names import short_key

Position = Callable[[Key], tuple[str, int] | None]


def problems_table(problems: Sequence[Mapping[str, Any]], position: Position, title: str = "OBJECT") -> Table:
    """Return a row for each problem of the query `problems`; `title` is the header of the objects' column."""
    columns = [Column(title), Column("PROBLEM", painted=True), Column("MESSAGE", long=True), Column("WHERE")]
    rows: list[Sequence[str]] = [
        [short_key(key), problem["reason"], problem["message"], "{}:{}".format(*place) if place else ""]
        for problem in problems
        for key in [parse_key(problem["subject"])]
        for place in [position(key)]
    ]
    return Table(columns, rows).without_empty("WHERE")
