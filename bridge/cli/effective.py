"""`bridge effective`, `explain` and `describe`: effective policies and their reasons; everything about an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completion import OBJECTS, TARGETS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    EVERY_SOURCE,
    SAME_FOR_ALL,
    View,
    kind_option,
    namespace_options,
    selector_option,
    source_namespace_option,
    view_options,
)
from bridge.queries.names import object_name

if TYPE_CHECKING:
    from bridge.cli.printers.table import Table
    from bridge.offline.engine import Engine
    from bridge.queries.asking import Entry, Selects
    from bridge.queries.description import Description

_EFFECTIVE_EXAMPLES = (
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


@click.command(
    cls=ExampleCommand, examples=_EFFECTIVE_EXAMPLES, short_help="Show effective policies at targets, or everywhere"
)
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

    _, code = show(view, ask, Form(effective_tables, "No effective policies found."), queries=("effective", "scopes"))
    ctx.exit(code)


_EXPLAIN_EXAMPLES = (
    (
        "Explain the effective policies of a rule",
        "bridge explain httproute/cart#checkout -n shop --manifests examples/shop",
    ),
    (
        "Explain one policy kind, with the result of each step",
        "bridge explain svc/catalog -n shop --kind timeoutpolicies -o wide --manifests examples/shop",
    ),
    ("Explain from kubectl's cluster", "bridge explain HTTPRoute/shop/cart --kind ColorPolicy"),
)


@click.command(cls=ExampleCommand, examples=_EXPLAIN_EXAMPLES, short_help="Explain the effective policies at a target")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=OBJECTS)
@kind_option("Only this policy kind: ColorPolicy, colorpolicies.example.com, …")
@namespace_options(only="The namespace of a TARGET without one.")
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
    """Explain the effective policies at a target.

    For each path to the target, the output has the policies from the top down, the steps of their merge, and the spec
    with the origin of each field. Then it lists policies and links of the hierarchy that do not count, with the reason.

    TARGET is an object or a section of an object: KIND NAME, KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a
    full key. A target above the level at which a policy kind acts means all effective targets below it. For a policy:
    its status, its effective targets, and the changes if it were deleted.
    """
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> list[Entry | Description]:
        from bridge.queries.asking import explained_at, policy_kind, target_keys
        from bridge.queries.description import describe as described

        chosen = await policy_kind(engine.opa, kind) if kind else None
        keys = await target_keys(engine.opa, targets, namespace)
        kinds = await engine.opa.query("kinds_in_force", {})
        policies = [key for key in keys if key.type_id in kinds]
        if policies:
            return [await described(engine.opa, key, await engine.events(key)) for key in policies]
        return [entry for key in keys for entry in await explained_at(engine.opa, key, chosen, source_namespace)]

    form = Form(
        _blocks,
        f"No policy applies at {' '.join(targets)}, and none is rejected there.",
        document=lambda found: [one if isinstance(one, dict) else one.document() for one in found],
        names=lambda found: [one["target"] if isinstance(one, dict) else str(one.key) for one in found],
        whole=True,
    )
    _, code = show(view, ask, form)
    ctx.exit(code)


def _blocks(found: list[Entry | Description], wide: bool) -> list[Table | str]:
    from bridge.cli.printers.description import description
    from bridge.cli.printers.effective import explanation

    blocks = explanation([one for one in found if isinstance(one, dict)], wide)
    for one in found:
        if not isinstance(one, dict):
            blocks += description(one, wide)
    return blocks


_DESCRIBE_EXAMPLES = (
    ("Describe a route with its policies, problems and events", "bridge describe httproute cart -n shop"),
    ("Describe a Gateway of a folder of manifests", "bridge describe gtw/infra/public --manifests examples/shop"),
    (
        "Describe a policy, with its status and targets",
        "bridge describe colorpolicy/infra/brand --manifests examples/shop",
    ),
)


@click.command(cls=ExampleCommand, examples=_DESCRIBE_EXAMPLES, short_help="Describe one object")
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
        names=lambda found: [object_name(found.key)],
        whole=True,
    )
    _, code = show(view, ask, form)
    ctx.exit(code)
