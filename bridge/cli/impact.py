"""`bridge impact`: what a policy reaches, and what would be without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import POLICIES
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import EVERY_SOURCE, View, namespace_options, source_namespace_option, view_options

if TYPE_CHECKING:
    from bridge.answers.asking import Entry
    from bridge.runtime.engine import Engine

_EXAMPLES = (
    ("What would change without a policy", "bridge impact colorpolicy/infra/brand --manifests examples/shop"),
    ("The same on a cluster, from its OPA", "bridge impact cp/brand -n infra --opa http://opa:8181"),
    (
        "Each target, before and after",
        "bridge impact cp/infra/brand --opa http://opa:8181 -o json",
    ),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="What a policy reaches, and what would be without it")
@click.argument("policy", metavar="POLICY", nargs=-1, required=True, shell_complete=POLICIES)
@namespace_options(only="The namespace of POLICY where it is given without one.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Of how many effective targets before and after are computed.",
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
    """Show how many effective targets a policy reaches, with which outcome, and what would change without it.

    POLICY is KIND NAME, KIND/NAME, KIND/NAMESPACE/NAME or a full key. Targets that would change in the
    same way share a row.
    """
    from bridge.cli.printers.impact import impact_tables
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> Entry:
        from bridge.answers.asking import one_target

        key = await one_target(engine.opa, policy, namespace)
        more = {"sourceNamespace": source_namespace} if source_namespace else {}
        found: Entry = await engine.opa.query("impact", {"policy": str(key), "limit": limit, **more})
        return found

    form = Form(impact_tables, "The policy reaches nothing.", names=lambda found: found["scopes"], whole=True)
    _, code = show(view, ask, form)
    ctx.exit(code)
