"""`bridge status`: the statuses that policies and what they affect should show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, namespace_options, selector_option, view_options, wants_document

if TYPE_CHECKING:
    from bridge.answers.asking import Selects
    from bridge.answers.statuses import Statuses
    from bridge.runtime.engine import Engine

_EXAMPLES = (
    ("What became of the policies in a folder of manifests", "bridge status --manifests examples/shop"),
    ("The same of a cluster, from its OPA", "bridge status --opa http://opa:8181"),
    ("Each object as it would be, with its status", "bridge status --manifests examples/shop -o yaml"),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Statuses of policies and of what they affect")
@namespace_options(only="Only policies, and objects that they affect, of this namespace.")
@selector_option
@view_options
@debug_option
@click.pass_context
def status(ctx: click.Context, namespace: str | None, selects: Selects | None, view: View) -> None:
    """Show the status of each policy, and the conditions on what policies affect.

    With -o json or yaml: an array of these objects as they would be, with their status. A policy of a kind that is only
    observed, whose status nobody writes, has the annotation policybridge.io/mode: Observe there.
    """
    from bridge.answers.statuses import objects_with_status, only, statuses
    from bridge.cli.printers.status import status_tables
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> Statuses:
        found = await statuses(engine.opa, with_objects=wants_document(view.output))
        return await only(engine.opa, found, namespace, selects)

    form = Form(
        status_tables,
        "No policies found.",
        document=objects_with_status,
        names=lambda found: [entry["policy"] for entry in found.policies],
    )
    _, code = show(view, ask, form)
    ctx.exit(code)
