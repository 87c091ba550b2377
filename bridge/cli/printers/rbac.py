"""Permissions as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bridge.cli.printers.table import Column, Table
from bridge.model.access import Access


def access_table(access: Iterable[Access]) -> Table:
    """Return a row for each resource and its purpose; several resource names are listed separately."""
    columns = [
        Column("NAMESPACE"),
        Column("RESOURCE"),
        Column("VERBS"),
        Column("NAMES", long=True),
        Column("FOR", long=True),
    ]
    rows: list[Sequence[str]] = [
        [one.namespace or "*", one.what, ", ".join(one.verbs), ", ".join(one.names) or "*", one.why] for one in access
    ]
    return Table(columns, rows)
