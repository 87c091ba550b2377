"""Placement results as tables: annotations to set, then objects that cannot be placed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.cli.printers.table import Column, Table
from bridge.model.keys import parse_key
from bridge.queries.names import short_key

if TYPE_CHECKING:
    from bridge.remediator.placement.decisions import PlacementFinding


def placement_tables(findings: Sequence[PlacementFinding], wide: bool = False) -> list[Table]:
    """Return a row for each annotation that differs (`wide`: each one), and for each object without placement."""
    wanted = Table([Column("OBJECT"), Column("ANNOTATION"), Column("NOW", long=True), Column("WANTED", long=True)])
    not_placed = Table([Column("NOT PLACED"), Column("WHY", long=True)])
    for one in findings:
        name = short_key(parse_key(one.key))
        shown = one.decided.annotations
        chosen = one.decided.decision.annotations if wide and not one.troubles else one.changes
        wanted.rows += [[name, key, str(shown.get(key, "")), value] for key, value in sorted(chosen.items())]
        not_placed.rows += [[name, why] for why in one.troubles]
    return [wanted, not_placed]
