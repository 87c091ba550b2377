"""`bridge violations`: what Constraints say of objects that exist, or of manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import CONSTRAINTS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import FORMATS, Input, input_options, namespace_options, output_option

if TYPE_CHECKING:
    from bridge.answers.asking import Entry
    from bridge.runtime.engine import Engine

_EXAMPLES = (
    ("Everything that a Constraint says of manifests", "bridge violations --manifests examples/constraints"),
    ("Of one Constraint, in one namespace, from a running OPA", "bridge violations memory-limits -n shop --opa URL"),
    ("As OPA answers it", "bridge violations --manifests examples/constraints -o json"),
)
_FOUND = 1  # the exit code where a violation has the action deny


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="What Constraints say of objects")
@click.argument("constraints", metavar="[CONSTRAINT]...", nargs=-1, shell_complete=CONSTRAINTS)
@namespace_options(only="Only objects of this namespace.")
@input_options
@output_option(*FORMATS)
@debug_option
@click.pass_context
def violations(
    ctx: click.Context, constraints: tuple[str, ...], namespace: str | None, source: Input, output: str
) -> None:
    """Show the violations of Constraints by objects that exist, or by manifests.

    CONSTRAINT is the name of a Constraint; without it: all of them. The exit code is 1 if any violation has the action
    deny; those of warn and dryrun are shown and change nothing.
    """
    from bridge.cli.constraints import violations_of
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.violations import violation_table
    from bridge.cli.reading import read

    async def ask(engine: Engine) -> tuple[list[Entry], bool]:
        return await violations_of(engine, constraints, namespace)

    (rows, at_fault), code = read(source, ask)
    print_answer(output, rows, lambda found, wide: [violation_table(found, wide=wide)], "No violations found.")
    denied = any(row["enforcementAction"] == "deny" for row in rows)
    ctx.exit(code or (2 if at_fault else _FOUND if denied else 0))
