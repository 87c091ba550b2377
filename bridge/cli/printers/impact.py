"""The effective targets of a policy, and the changes if it were deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridge.cli.printers.differences import differences_table
from bridge.cli.printers.effective import name_of
from bridge.cli.printers.table import Column, Table
from bridge.model.keys import parse_key


def impact_tables(answer: Mapping[str, Any], wide: bool = False) -> list[Table]:
    """Return the tables for the query `impact`: the counts, then the changes if the policy were deleted."""
    counts = answer["counts"]
    outcomes = [f"{name} on {number:,}" for name, number in counts["outcomes"].items() if number]
    compared = "" if counts["compared"] == counts["scopes"] else f" (of {counts['compared']:,} compared)"
    about = Table(
        [Column("POLICY"), Column("KIND"), Column("TARGETS"), Column("PATHS", painted=True)],
        [],
    )
    if counts["scopes"]:
        key = parse_key(answer["policy"])
        told = [name_of(key), key.type_id if wide else key.kind, f"{counts['scopes']:,}{compared}"]
        about.rows.append([*told, ", ".join(outcomes) or "-"])
    kind = {"policyKind": answer["policyKind"]}
    deleted = differences_table([{**kind, **told} for told in answer["ifDeleted"]], wide)
    return [about, deleted.titled(BEFORE="WITH IT", AFTER="WITHOUT IT").without("POLICY KIND")]
