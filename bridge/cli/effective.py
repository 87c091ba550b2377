"""`bridge effective`: the effective policies at targets, or at all targets that have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import TARGETS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    SAME_FOR_ALL,
    View,
    kind_option,
    namespace_options,
    selector_option,
    source_namespace_option,
    view_options,
)

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.queries.asking import Entry, Selects

_EXAMPLES = (
    ("All effective policies of a folder of manifests", "bridge effective --manifests examples/shop"),
    (
        "One rule of a route, from a running OPA",
        "bridge effective httproute/cart#checkout -n shop --opa http://opa:8181",
    ),
    ("Everything below one listener", "bridge effective gtw/public#https --manifests examples/shop"),
    (
        "One policy kind, as the JSON result of the query",
        "bridge effective --kind colorpolicies --manifests examples/shop -o json",
    ),
    ("The output of kustomize", "kubectl kustomize . | bridge effective --manifests -"),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Show effective policies at targets, or everywhere")
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=TARGETS)
@kind_option("Only this policy kind: ColorPolicy, colorpolicies.example.com, …")
@namespace_options(only="The namespace of TARGETs without one; without TARGET, show only this namespace.")
@source_namespace_option(SAME_FOR_ALL)
@selector_option
@view_options
@debug_option
@click.pass_context
def effective(
    ctx: click.Context,
    targets: tuple[str, ...],
    kind: str | None,
    namespace: str | None,
    source_namespace: str | None,
    selects: Selects | None,
    view: View,
) -> None:
    """Show effective policies: the spec that applies at a target, and the policies that it comes from.

    TARGET is an object or a section of an object: KIND NAME, KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a
    full key; KIND alone means all objects of the kind. A target above the level at which a policy kind acts means all
    effective targets below it. Without TARGET: all effective targets of policies.
    """
    from bridge.cli.printers.effective import effective_tables
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> list[Entry]:
        from bridge.queries.asking import effective_at, effective_everywhere, policy_kind, selected, target_keys

        chosen = await policy_kind(engine.opa, kind) if kind else None
        if targets:
            keys = await target_keys(engine.opa, targets, namespace)
            found = await effective_at(engine.opa, keys, chosen, source_namespace)
        else:
            found = await effective_everywhere(engine.opa, chosen, namespace, source_namespace)
        return await selected(engine.opa, found, "target", selects)

    _, code = show(view, ask, Form(effective_tables, "No effective policies found."))
    ctx.exit(code)
