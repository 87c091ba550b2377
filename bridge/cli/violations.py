"""`pbctl problems --violations`: violations of Constraints by existing objects, or by manifests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.notation import Entry
from bridge.cli.output import Answer, print_error
from bridge.cli.reading import INPUT_ERROR, Asked, report_at
from bridge.cli.table import Table
from bridge.model.keys import CLUSTER, parse_key
from bridge.model.text import nearest
from bridge.model.types import CONSTRAINT
from bridge.queries.names import NameNotFoundError, exemption_text, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine

_FOUND = 1  # exit code
_CONSTRAINTS = f"{CONSTRAINT}/{CLUSTER}/"  # of the full key of a Constraint


async def violations_answer(engine: Engine, asked: Asked) -> Answer:
    """Return the answer of `pbctl problems --violations`: violations of Constraints, or those that the words name.

    A word is the name or the full key of a Constraint, or an object, whose violations are meant.
    """
    from bridge.queries.analysis import is_failure
    from bridge.queries.asking import audited_keys, selected, target_keys, violations_by

    named = [word.removeprefix(_CONSTRAINTS) for word in asked.words]
    names, texts = [name for name in named if "/" not in name], [name for name in named if "/" in name]
    objects = await target_keys(engine.opa, texts, asked.namespace, with_policies=True)
    constraints = await _constraints(engine, names)
    query_input = {"constraints": names} if names else {}
    audited = await audited_keys(engine.opa, query_input)
    keys = sorted(key for key in audited if asked.namespace in {None, parse_key(key).namespace})
    if objects:
        keys = sorted({str(key.object) for key in objects} & audited)
    rows = await violations_by(engine.opa, keys, names or None)
    rows.sort(key=lambda row: (row["constraint"], row["object"], row["message"]))
    at_fault = _report_inactive(engine, constraints)
    found = await selected(engine.opa, rows, "object", asked.selects)
    if asked.namespace is None:
        await _report_exemptions(engine, [entry["constraint"] for entry in constraints], rows)
    fails = any(is_failure(row, warnings=asked.more.get("fail_on") == "warning") for row in found)
    return Answer(
        lambda: [_violation_table(found, wide=asked.wide)],
        "No violations found by the active Constraints." if at_fault else "No violations found.",
        found,
        code=INPUT_ERROR if at_fault else _FOUND if fails else 0,
    )


async def _constraints(engine: Engine, names: Sequence[str]) -> list[Entry]:
    """Return these Constraints, or all. Raises NameNotFoundError for an unknown name."""
    query_input: dict[str, Any] = {"replicated": list(engine.replicated)} if engine.replicated is not None else {}
    known: dict[str, Entry] = {
        entry["constraint"]: entry for entry in await engine.opa.query("constraints", query_input)
    }
    for name in names:
        if name not in known:
            near = nearest(name, known)
            existing = f"existing Constraints: {', '.join(sorted(known)) or 'none'}"
            hint = f"did you mean {near}?" if near else existing
            raise NameNotFoundError(f"Constraint/{name} does not exist; {hint}")
    return [known[name] for name in names or sorted(known)]


def _report_inactive(engine: Engine, constraints: Sequence[Entry]) -> bool:
    """Report Constraints that are not active on standard error; return whether manifests have such errors."""
    at_fault = False
    for entry in constraints:
        name, condition = entry["constraint"], entry["condition"]
        if entry["unaudited"]:
            kinds = ", ".join(entry["unaudited"])
            print_error(f"warning: Constraint/{name}: not evaluated because not replicated: {kinds}")
        if condition["status"] != "True":
            what = " is not active:" if condition["reason"] == "Invalid" else ":"
            key = parse_key(f"policybridge.io/Constraint/-/{name}")
            at_fault |= report_at(engine, key, f"Constraint/{name}{what} {condition['message']}")
    return at_fault


async def _report_exemptions(engine: Engine, names: Sequence[str], rows: Sequence[Entry]) -> None:
    """Report on standard error the exemptions that have expired, and those that exempt none of all violations."""
    from bridge.opa.batches import SKIP_MISSING

    exempted: dict[str, Counter[str]] = {name: Counter() for name in names}
    for row in rows:
        if "exemption" in row:
            exempted[row["constraint"]][str(row["exemption"]["number"])] += 1
    counted = {name: {"total": 0, "first": [], "exempted": found} for name, found in exempted.items()}
    for entry in await engine.opa.query("constraints", {"constraints": names, "counted": counted, **SKIP_MISSING}):
        for remark in entry["exemptions"]:
            print_error(f"warning: Constraint/{entry['constraint']}: {remark}")


def _violation_table(rows: Sequence[Entry], *, wide: bool) -> Table:
    """Return a row for each violation; `wide` adds the policy's details."""
    table = Table(["CONSTRAINT", "ACTION", "OBJECT", "MESSAGE", "EXEMPTION", "DETAILS"], long=("DETAILS", "EXEMPTION"))
    for row in rows:
        details = json.dumps(row["details"], sort_keys=True) if wide else ""
        exemption = exemption_text(row["exemption"]) if "exemption" in row else ""
        cells = [row["constraint"], row["enforcementAction"], short_key(parse_key(row["object"])), row["message"]]
        table.rows.append([*cells, exemption, details])
    return table.without_empty("EXEMPTION", "DETAILS")
