"""`bridge violations`: the violations of Constraints by existing objects, or by manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import CONSTRAINTS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, namespace_options, selector_option, view_options

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
    from bridge.cli.constraints import violations_of
    from bridge.cli.printers.violations import violation_table
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
