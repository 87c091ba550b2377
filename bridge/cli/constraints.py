"""Queries about Constraints for commands."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.plain import tell
from bridge.model.keys import parse_key
from bridge.queries.asking import Entry, in_batches
from bridge.queries.names import NameNotFoundError

if TYPE_CHECKING:
    from bridge.app.engine import Engine


async def violations_of(engine: Engine, names: Sequence[str], namespace: str | None = None) -> tuple[list[Entry], bool]:
    """Return the violations of these Constraints, or of all, as in the query result, and whether manifests have errors.

    Warns on standard error about Constraints that are not active. Raises NameNotFoundError for an unknown name.
    """
    asked: dict[str, Any] = {"replicated": list(engine.replicated)} if engine.replicated is not None else {}
    told = {entry["constraint"]: entry for entry in await engine.opa.query("constraints", asked)}
    for name in names:
        if name not in told:
            near = difflib.get_close_matches(name, told, n=1)
            hint = (
                f"; did you mean {near[0]}?" if near else f"; existing Constraints: {', '.join(sorted(told)) or 'none'}"
            )
            raise NameNotFoundError(f"Constraint {name} does not exist{hint}")
    asked = {"constraints": list(names)} if names else {}
    audited: dict[str, list[str]] = await engine.opa.query("audit_keys", asked)
    keys = sorted({key for held in audited.values() for key in held if namespace in {None, parse_key(key).namespace}})
    rows = await in_batches(engine.opa, "violations", "objects", keys, asked)
    rows.sort(key=lambda row: (row["constraint"], row["object"], row["message"]))
    return rows, _tell_refused(engine, [told[name] for name in names or sorted(told)])


def _tell_refused(engine: Engine, told: Sequence[Entry]) -> bool:
    at_fault = False
    for entry in told:
        condition = entry["condition"]
        if entry["unaudited"]:
            kinds = ", ".join(entry["unaudited"])
            tell(f"warning: Constraint {entry['constraint']}: not evaluated because not replicated: {kinds}")
        if condition["status"] != "True":
            position = engine.position(parse_key(f"policybridge.io/Constraint/-/{entry['constraint']}"))
            where = f"{position[0]}:{position[1]}: " if position else ""
            at_fault = at_fault or position is not None
            level = "error" if position else "warning"
            what = " is not active:" if condition["reason"] == "Invalid" else ":"
            tell(f"{level}: {where}Constraint {entry['constraint']}{what} {condition['message']}")
    return at_fault
