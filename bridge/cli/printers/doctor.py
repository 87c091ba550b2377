"""The results of `bridge doctor`, as a table and as a document."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from bridge.cli.checks import Check
from bridge.cli.printers.table import Column, Table


def check_tables(checks: Sequence[Check], _wide: bool = False) -> list[Table]:
    """Return the checks, and below them the commands that fix missing items."""
    looked_at = Table(
        [Column("WHAT"), Column("STATE", painted=True), Column("FOUND", long=True), Column("FOR", long=True)],
        [[check.name, check.state, check.found, check.needed_for] for check in checks],
    )
    mends = Table(
        [Column("MISSING"), Column("WHAT MENDS IT", long=True)],
        [[check.name, check.mend] for check in checks if check.mend],
    )
    return [looked_at, mends]


def check_documents(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Return each check with all its fields."""
    return [dataclasses.asdict(check) for check in checks]
