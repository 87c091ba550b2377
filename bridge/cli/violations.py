"""`bridge violations`: the violations of Constraints by existing objects, or by manifests."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.completion import CONSTRAINTS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, namespace_options, selector_option, view_options
from bridge.cli.terminal import print_error
from bridge.model.keys import parse_key
from bridge.queries.names import NameNotFoundError

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.queries.asking import Entry, Selects

_EXAMPLES = (
    ("All violations by manifests", "bridge violations --manifests examples/constraints"),
    (
        "Violations of one Constraint, in one namespace, from a running OPA",
        "bridge violations memory-limits -n shop --opa URL",
    ),
    ("The JSON result of the query", "bridge violations --manifests examples/constraints -o json"),
)
_FOUND = 1  # exit code if a violation has the action deny


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Show the violations of Constraints")
@click.argument("constraints", metavar="[CONSTRAINT]...", nargs=-1, shell_complete=CONSTRAINTS)
@namespace_options(only="Only objects in this namespace.")
@selector_option
@view_options
@debug_option
@click.pass_context
def violations(
    ctx: click.Context,
    constraints: tuple[str, ...],
    namespace: str | None,
    selects: Selects | None,
    view: View,
) -> None:
    """Show the violations of Constraints by existing objects, or by manifests.

    CONSTRAINT is the name of a Constraint; default: all. The exit code is 1 if a violation has the action deny;
    violations with warn and dryrun do not change it.
    """
    from bridge.cli.printers.status import violation_table
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> tuple[list[Entry], bool]:
        from bridge.queries.asking import selected

        rows, at_fault = await violations_of(engine, constraints, namespace)
        return await selected(engine.opa, rows, "object", selects), at_fault

    form: Form[tuple[list[Entry], bool]] = Form(
        lambda found, wide: [violation_table(found[0], wide=wide)],
        "No violations found.",
        document=lambda found: found[0],
    )
    (rows, at_fault), code = show(view, ask, form)
    denied = any(row["enforcementAction"] == "deny" for row in rows)
    ctx.exit(code or (2 if at_fault else _FOUND if denied else 0))


async def violations_of(engine: Engine, names: Sequence[str], namespace: str | None = None) -> tuple[list[Entry], bool]:
    """Return the violations of these Constraints, or of all, as in the query result, and whether manifests have errors.

    Warns on standard error about Constraints that are not active. Raises NameNotFoundError for an unknown name.
    """
    from bridge.queries.asking import in_batches

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
    return rows, _report_inactive(engine, [told[name] for name in names or sorted(told)])


def _report_inactive(engine: Engine, told: Sequence[Entry]) -> bool:
    at_fault = False
    for entry in told:
        condition = entry["condition"]
        if entry["unaudited"]:
            kinds = ", ".join(entry["unaudited"])
            print_error(f"warning: Constraint {entry['constraint']}: not evaluated because not replicated: {kinds}")
        if condition["status"] != "True":
            position = engine.position(parse_key(f"policybridge.io/Constraint/-/{entry['constraint']}"))
            where = f"{position[0]}:{position[1]}: " if position else ""
            at_fault = at_fault or position is not None
            level = "error" if position else "warning"
            what = " is not active:" if condition["reason"] == "Invalid" else ":"
            print_error(f"{level}: {where}Constraint {entry['constraint']}{what} {condition['message']}")
    return at_fault
