"""`bridge explain`: how what holds at a target came about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import OBJECTS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import EVERY_SOURCE, View, kind_option, namespace_options, source_namespace_option, view_options

if TYPE_CHECKING:
    from bridge.answers.asking import Entry
    from bridge.answers.description import Description
    from bridge.cli.printers.table import Table
    from bridge.runtime.engine import Engine

_EXAMPLES = (
    (
        "Why a rule of a route has what it has",
        "bridge explain httproute/cart#checkout -n shop --manifests examples/shop",
    ),
    (
        "One policy kind, with what each step gave",
        "bridge explain svc/catalog --kind tp -o wide --manifests examples/shop",
    ),
    ("On the cluster that kubectl talks to", "bridge explain HTTPRoute/shop/cart --kind ColorPolicy"),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Why a target has the spec that it has")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=OBJECTS)
@kind_option("Only this policy kind: ColorPolicy, colorpolicies.example.com, …")
@namespace_options(only="The namespace of TARGET where it is given without one.")
@source_namespace_option(EVERY_SOURCE)
@view_options
@debug_option
@click.pass_context
def explain(
    ctx: click.Context,
    targets: tuple[str, ...],
    kind: str | None,
    namespace: str | None,
    source_namespace: str | None,
    view: View,
) -> None:
    """Explain how the effective policies at a target came about.

    For each path to it: the policies from the top down, the steps by which they were merged, and the spec with the
    policy that each field comes from. Then what does not count there, policies and links of the hierarchy, with the
    reason.

    TARGET is an object or a section of it: KIND NAME, KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a full key.
    One above the level at which a policy kind acts stands for everything below it. If TARGET is a policy: its status,
    what it reaches, and what would change without it.
    """
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> list[Entry | Description]:
        from bridge.answers.asking import explained_at, policy_kind, target_keys
        from bridge.answers.description import describe as described

        chosen = await policy_kind(engine.opa, kind) if kind else None
        keys = await target_keys(engine.opa, targets, namespace)
        kinds = await engine.opa.query("kinds_in_force", {})
        policies = [key for key in keys if key.type_id in kinds]
        if policies:
            return [await described(engine.opa, key, await engine.events(key)) for key in policies]
        return [entry for key in keys for entry in await explained_at(engine.opa, key, chosen, source_namespace)]

    form = Form(
        _blocks,
        f"No policy applies at {' '.join(targets)}, and none is kept from it.",
        document=lambda found: [one if isinstance(one, dict) else one.document() for one in found],
        names=lambda found: [one["target"] if isinstance(one, dict) else str(one.key) for one in found],
        whole=True,
    )
    _, code = show(view, ask, form)
    ctx.exit(code)


def _blocks(found: list[Entry | Description], wide: bool) -> list[Table | str]:
    from bridge.cli.printers.description import description
    from bridge.cli.printers.explain import explanation

    blocks = explanation([one for one in found if isinstance(one, dict)], wide)
    for one in found:
        if not isinstance(one, dict):
            blocks += description(one, wide)
    return blocks
