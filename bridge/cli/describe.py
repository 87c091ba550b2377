"""`bridge describe`: print everything about one object of the hierarchy, or about a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completion import OBJECTS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, namespace_options, view_options

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.queries.description import Description

_EXAMPLES = (
    ("Describe a route with its policies, problems and events", "bridge describe httproute cart -n shop"),
    ("Describe a Gateway of a folder of manifests", "bridge describe gtw/infra/public --manifests examples/shop"),
    (
        "Describe a policy, with its status and targets",
        "bridge describe colorpolicy/infra/brand --manifests examples/shop",
    ),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Describe one object")
@click.argument("target", metavar="OBJECT", nargs=-1, required=True, shell_complete=OBJECTS)
@namespace_options(only="The namespace of an OBJECT without one.")
@view_options
@debug_option
@click.pass_context
def describe(ctx: click.Context, target: tuple[str, ...], namespace: str | None, view: View) -> None:
    """Describe an object: the objects above and below it, its policies, effective policies, problems and events.

    For a policy: its status, its targets, and the changes if it were deleted. OBJECT is KIND NAME, KIND/NAME,
    KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a full key. Events are shown only for a cluster.
    """
    from bridge.cli.printers.description import description
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> Description:
        from bridge.queries.asking import one_target
        from bridge.queries.description import describe as described

        key = await one_target(engine.opa, target, namespace)
        return await described(engine.opa, key, await engine.events(key))

    form = Form(
        description,
        "Nothing found.",
        document=lambda found: found.document(),
        names=lambda found: [str(found.key)],
        whole=True,
    )
    _, code = show(view, ask, form)
    ctx.exit(code)
