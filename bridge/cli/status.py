"""`bridge status`: the statuses that policies and what they affect should show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import FORMATS, Input, check_watch, input_options, output_option, wants_document, watch_option

if TYPE_CHECKING:
    from bridge.answers.statuses import Statuses
    from bridge.runtime.engine import Engine

_EXAMPLES = (
    ("What became of the policies in a folder of manifests", "bridge status --manifests examples/shop"),
    ("The same of a cluster, from its OPA", "bridge status --opa http://opa:8181"),
    ("Each object as it would be, with its status", "bridge status --manifests examples/shop -o yaml"),
)
_NOTHING = "No policies found."


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Statuses of policies and of what they affect")
@input_options
@output_option(*FORMATS)
@watch_option
@debug_option
@click.pass_context
def status(ctx: click.Context, source: Input, output: str, watch: bool) -> None:
    """Show the status of each policy, and the conditions on what policies affect.

    With -o json or yaml: an array of these objects as they would be, with their status. A policy of a kind that is only
    observed, whose status nobody writes, has the annotation policybridge.io/mode: Observe there.
    """
    from bridge.answers.statuses import objects_with_status, statuses
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.status import status_tables
    from bridge.cli.reading import read
    from bridge.cli.watching import watch as watched

    async def ask(engine: Engine) -> Statuses:
        return await statuses(engine.opa, with_objects=wants_document(output))

    if watch:
        check_watch(source, output)
        watched(source, ask, lambda answer: status_tables(answer, output == "wide"), _NOTHING)
    answer, code = read(source, ask)
    print_answer(
        output,
        answer,
        status_tables,
        _NOTHING,
        document=objects_with_status,
        names=lambda found: [entry["policy"] for entry in found.policies],
    )
    ctx.exit(code)
