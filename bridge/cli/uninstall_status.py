"""`bridge uninstall-status`: remove everything that a bridge has written into objects."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import output_option
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.cli.printers.table import Table
    from bridge.cli.removal import RemovalOutcome

_EXAMPLES = (
    ("Show what the command would remove", "bridge uninstall-status --dry-run"),
    ("Remove it without confirmation, after the bridges are stopped", "bridge uninstall-status --yes"),
    ("For bridges with other settings (the Lease's name)", "bridge uninstall-status --config bridge.yaml"),
)
_LEFT = 1  # exit code if something remains, or could not be checked


@click.command(
    "uninstall-status",
    cls=ExampleCommand,
    examples=_EXAMPLES,
    short_help="Remove everything that a bridge wrote into a cluster",
)
@click.option("--kubeconfig", metavar="FILE", help="The cluster. Default: kubectl's cluster.")
@click.option("--context", metavar="NAME", help="The context in the kubeconfig.")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Settings of the bridges (lease_namespace, lease_name). The environment takes precedence.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option("--yes", is_flag=True, help="Remove without confirmation.")
@output_option("table", "json", "yaml")
@debug_option
@click.pass_context
def uninstall_status(
    ctx: click.Context, /, config: Path | None, output: str, *, dry_run: bool, yes: bool, **flags: Any
) -> None:
    """Remove everything that bridges wrote into a cluster; entries of other writers stay.

    These are conditions, annotations and statuses, the bridge's fields of the webhook configurations, and its Lease.
    Stop the bridges first: while a bridge holds the Lease, the command removes nothing. The exit code is 1 if something
    remains, or could not be checked.
    """
    from bridge.cli.printers import print_answer
    from bridge.cli.removal import look, remove
    from bridge.settings.loading import load_settings

    def show(outcomes: list[RemovalOutcome]) -> None:
        print_answer(
            output, outcomes, outcome_tables, "Nothing of a bridge is left in this cluster.", outcome_documents
        )

    settings = load_settings(config, flags)
    if dry_run or not yes:
        found = asyncio.run(look(settings, refuse=not dry_run))
        if dry_run or not any(one.what for one in found):
            show(found)
            ctx.exit(_LEFT if any(one.unseen for one in found) else 0)
        if not sys.stdin.isatty():
            raise CommandError(
                "no terminal for the confirmation: give --yes, or --dry-run to see what would be removed"
            )
        show(found)
        click.confirm(f"Remove this from {sum(bool(one.what) for one in found)} objects?", abort=True, err=True)
    done = asyncio.run(remove(settings))
    show(done)
    ctx.exit(_LEFT if any(one.left or one.unseen for one in done) else 0)


def outcome_tables(outcomes: Sequence[RemovalOutcome], _wide: bool = False) -> list[Table]:
    """Return a row for each object; below, objects that could not be checked."""
    from bridge.cli.printers.table import Column, Table

    found = Table(
        [Column("OBJECT"), Column("WRITTEN BY A BRIDGE", long=True), Column("RESULT", long=True)],
        [[one.name, "; ".join(one.what), _result(one)] for one in outcomes if one.what],
    )
    unseen = Table(
        [Column("NOT CHECKED"), Column("WHY", long=True)], [[one.name, one.unseen] for one in outcomes if one.unseen]
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
