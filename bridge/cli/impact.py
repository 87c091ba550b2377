"""`bridge impact`: the effective targets of a policy, and the changes if it were deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import POLICIES
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import EVERY_SOURCE, View, namespace_options, source_namespace_option, view_options

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.queries.asking import Entry

_EXAMPLES = (
    ("Show the changes if a policy were deleted", "bridge impact colorpolicy/infra/brand --manifests examples/shop"),
    ("The same for a cluster, from its OPA", "bridge impact cp/brand -n infra --opa http://opa:8181"),
    (
        "Each target, before and after",
        "bridge impact cp/infra/brand --opa http://opa:8181 -o json",
    ),
)


@click.command(
    cls=ExampleCommand,
    examples=_EXAMPLES,
    short_help="Show the effects of a policy",
)
@click.argument("policy", metavar="POLICY", nargs=-1, required=True, shell_complete=POLICIES)
@namespace_options(only="The namespace of a POLICY without one.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="The number of effective targets to compare before and after.",
)
@source_namespace_option(EVERY_SOURCE)
@view_options
@debug_option
@click.pass_context
def impact(
    ctx: click.Context,
    policy: tuple[str, ...],
    namespace: str | None,
    limit: int,
    source_namespace: str | None,
    view: View,
) -> None:
    """Show the number of effective targets of a policy by outcome, and the changes if it were deleted.

    POLICY is KIND NAME, KIND/NAME, KIND/NAMESPACE/NAME or a full key. Targets with equal changes share a row.
    """
    from bridge.cli.printers.impact import impact_tables
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> Entry:
        from bridge.queries.asking import one_target

        key = await one_target(engine.opa, policy, namespace)
        more = {"sourceNamespace": source_namespace} if source_namespace else {}
        found: Entry = await engine.opa.query("impact", {"policy": str(key), "limit": limit, **more})
        return found

    form = Form(impact_tables, "The policy has no effective targets.", names=lambda found: found["scopes"], whole=True)
    _, code = show(view, ask, form)
    ctx.exit(code)
