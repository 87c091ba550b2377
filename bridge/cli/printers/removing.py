"""The results of `bridge uninstall-status`, as a table and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.printers.table import Column, Table

if TYPE_CHECKING:
    from bridge.cli.removing import RemovalOutcome


def outcome_tables(outcomes: Sequence[RemovalOutcome], _wide: bool = False) -> list[Table]:
    """Return a row for each object; below, objects that could not be checked."""
    found = Table(
        [Column("OBJECT"), Column("WRITTEN BY A BRIDGE", long=True), Column("RESULT", long=True)],
        [[one.name, "; ".join(one.what), _result(one)] for one in outcomes if one.what],
    )
    unseen = Table(
        [Column("NOT LOOKED AT"), Column("WHY", long=True)], [[one.name, one.unseen] for one in outcomes if one.unseen]
    )
    return [found.without_empty("RESULT"), unseen]


def outcome_documents(outcomes: Sequence[RemovalOutcome]) -> list[dict[str, Any]]:
    """Return each object with its entries and the result."""
    return [
        {"object": one.name, "written": list(one.what), "result": _result(one)}
        if one.what
        else {"notLookedAt": one.name, "why": one.unseen}
        for one in outcomes
    ]


def _result(one: RemovalOutcome) -> str:
    return "removed" if one.done else f"left: {one.left}" if one.left else ""
