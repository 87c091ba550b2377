"""Violations of Constraints as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.cli.printers.table import Column, Table
from bridge.model.keys import parse_key
from bridge.queries.names import short_key

if TYPE_CHECKING:
    from bridge.queries.asking import Entry


def violation_table(rows: Sequence[Entry], *, wide: bool = False) -> Table:
    """Return a row for each violation; `wide` adds the policy's details."""
    columns = [Column("CONSTRAINT"), Column("ACTION"), Column("OBJECT"), Column("MESSAGE", long=True)]
    columns += [Column("DETAILS", long=True)] if wide else []
    return Table(columns, [_cells(row, wide=wide) for row in rows])


def _cells(row: Entry, *, wide: bool) -> list[str]:
    cells = [row["constraint"], row["enforcementAction"], short_key(parse_key(row["object"])), row["message"]]
    return [*cells, json.dumps(row["details"], sort_keys=True)] if wide else cells
