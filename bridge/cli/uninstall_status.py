"""`bridge uninstall-status`: everything that bridges have written into a cluster, taken back."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.answers.errors import CommandError
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import output_option

if TYPE_CHECKING:
    from bridge.cli.removing import Outcome

_EXAMPLES = (
    ("See what would go", "bridge uninstall-status --dry-run"),
    ("After the bridges are stopped, without a question", "bridge uninstall-status --yes"),
    ("Of bridges with settings of their own (the Lease's name)", "bridge uninstall-status --config bridge.yaml"),
)
_LEFT = 1  # the exit code where something is left, or could not be looked at


@click.command(
    "uninstall-status",
    cls=ExampleCommand,
    examples=_EXAMPLES,
    short_help="Take back all that a bridge wrote into a cluster",
)
@click.option("--kubeconfig", metavar="FILE", help="The cluster. Default: the one that kubectl talks to.")
@click.option("--context", metavar="NAME", help="The context in the kubeconfig.")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Settings of the bridges (lease_namespace, lease_name). The environment goes before them.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Do not ask before anything is removed.")
@output_option("table", "json", "yaml")
@debug_option
@click.pass_context
def uninstall_status(
    ctx: click.Context, /, config: Path | None, output: str, *, dry_run: bool, yes: bool, **flags: Any
) -> None:
    """Remove all that bridges wrote into a cluster; what others wrote stays.

    These are conditions, annotations and statuses, what the webhook's configuration has of them, the Secret of its
    certificate, and their Lease. Stop the bridges first: while one holds the Lease, nothing is removed. The exit code
    is 1 if something is left, or could not be looked at.
    """
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.removing import outcome_documents, outcome_tables
    from bridge.cli.removing import look, remove
    from bridge.runtime.settings_loading import load_settings

    def show(outcomes: list[Outcome]) -> None:
        print_answer(output, outcomes, outcome_tables, "A bridge has left nothing here.", outcome_documents)

    settings = load_settings(config, flags)
    if dry_run or not yes:
        found = asyncio.run(look(settings, refuse=not dry_run))
        if dry_run or not any(one.what for one in found):
            show(found)
            ctx.exit(_LEFT if any(one.unseen for one in found) else 0)
        if not sys.stdin.isatty():
            raise CommandError("nobody is there to be asked: give --yes, or --dry-run to see what would go")
        show(found)
        click.confirm(f"Remove this from {sum(bool(one.what) for one in found)} objects?", abort=True, err=True)
    done = asyncio.run(remove(settings))
    show(done)
    ctx.exit(_LEFT if any(one.left or one.unseen for one in done) else 0)
