"""`bridge tree`: print the hierarchy from the top down, with the policies at each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import TARGETS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, depth_option, kind_option, namespace_options, view_options

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.queries.trees import Tree

_EXAMPLES = (
    ("Everything, from the GatewayClasses down", "bridge tree --manifests examples/shop"),
    ("Everything below one listener, from a running OPA", "bridge tree gtw/public#https --opa http://opa:8181"),
    ("Only Gateways and their listeners", "bridge tree gatewayclass/example --depth 2 --manifests examples/shop"),
    ("All routes of a Gateway with thousands of them", "bridge tree gtw/infra/public --all"),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Show the hierarchy with the policies at each node")
@click.argument("root", metavar="[ROOT]", nargs=-1, shell_complete=TARGETS)
@kind_option("Only policies of this kind: ColorPolicy, colorpolicies.example.com, …")
@depth_option
@click.option("--all", "everything", is_flag=True, help="All children of a node, and ports without policies.")
@namespace_options(only="The namespace of a ROOT without one; without ROOT, show only this namespace.")
@view_options
@debug_option
@click.pass_context
def tree(
    ctx: click.Context,
    root: tuple[str, ...],
    kind: str | None,
    depth: int | None,
    everything: bool,
    namespace: str | None,
    view: View,
) -> None:
    """Show the hierarchy by links that count, with the policies at each node and their outcomes.

    ROOT is an object or a section of an object: KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a full key.
    Without it: everything, from the nodes without a parent. A node with several parents is printed once. Of many
    children the first are shown, those with policies before the others.
    """
    from bridge.cli.printers.tree import tree_table
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> Tree:
        from bridge.queries.asking import one_target, policy_kind
        from bridge.queries.trees import tree_below

        chosen = await policy_kind(engine.opa, kind) if kind else None
        key = await one_target(engine.opa, root, namespace) if root else None
        return await tree_below(engine.opa, key, chosen, depth, None if root else namespace)

    form: Form[Tree] = Form(
        lambda found, wide: [tree_table(found, wide=wide, everything=everything)],
        "The hierarchy is empty.",
        document=lambda found: found.found,
        names=lambda found: sorted(found.found["nodes"]),
        whole=True,
    )
    _, code = show(view, ask, form)
    ctx.exit(code)
