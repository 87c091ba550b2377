"""`bridge status`: the desired statuses of policies and of objects that they affect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, namespace_options, selector_option, view_options, wants_document

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.queries.asking import Selects
    from bridge.queries.statuses import Statuses

_EXAMPLES = (
    ("The statuses of the policies in a folder of manifests", "bridge status --manifests examples/shop"),
    ("The same for a cluster, from its OPA", "bridge status --opa http://opa:8181"),
    ("Each object with its desired status", "bridge status --manifests examples/shop -o yaml"),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Show statuses of policies and affected objects")
@namespace_options(only="Only policies and affected objects in this namespace.")
@selector_option
@view_options
@debug_option
@click.pass_context
def status(ctx: click.Context, namespace: str | None, selects: Selects | None, view: View) -> None:
    """Show the status of each policy, and the conditions on objects that policies affect.

    -o json and yaml print an array of these objects with their desired status. A policy of a kind in mode Observe,
    whose status the bridge does not write, has the annotation policybridge.io/mode: Observe there.
    """
    from bridge.cli.printers.status import status_tables
    from bridge.cli.reading import Form, show
    from bridge.queries.statuses import objects_with_status, only, statuses

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
