"""`bridge tree` and `bridge graph`: the hierarchy with its policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completion import TARGETS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    Input,
    View,
    depth_option,
    input_options,
    kind_option,
    namespace_options,
    output_option,
    view_options,
)

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.queries.topology import Picture, Tree

_GRAPH_EXAMPLES = (
    ("Draw a picture for a browser or a README", "bridge graph --manifests examples/shop -o svg >shop.svg"),
    ("Draw everything below one Gateway, for a page in Markdown", "bridge graph gtw/infra/public -o mermaid"),
    ("Draw one namespace, with the nodes above it", "bridge graph -n shop --manifests examples/shop -o svg >shop.svg"),
    ("For graphviz", "bridge graph --kind ColorPolicy -o dot | dot -Tpng >graph.png"),
)


@click.command(cls=ExampleCommand, examples=_GRAPH_EXAMPLES, short_help="Draw the hierarchy")
@click.argument("root", metavar="[ROOT]", nargs=-1, shell_complete=TARGETS)
@kind_option("Only policies of this kind: ColorPolicy, colorpolicies.example.com, …")
@depth_option
@click.option("--all", "everything", is_flag=True, help="Draw every node, including ports without policies.")
@namespace_options(only="The namespace of a ROOT without one; without ROOT, draw its nodes and those above and below.")
@input_options
@output_option("dot", "mermaid", "svg")
@debug_option
@click.pass_context
def graph(
    ctx: click.Context,
    root: tuple[str, ...],
    kind: str | None,
    depth: int | None,
    everything: bool,
    namespace: str | None,
    source: Input,
    output: str,
) -> None:
    """Draw the hierarchy, with the policies at each node and their outcomes.

    Policies that are overridden on all paths are marked; links that do not count are dashed, with the reason. ROOT is
    an object or a section of an object: KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a full key. The default is
    everything. Of many siblings some are drawn, those with policies first, and the others are counted. The same objects
    always give the same picture.
    """
    from bridge.cli.pictures import draw
    from bridge.cli.reading import read

    async def ask(engine: Engine) -> Picture:
        from bridge.queries.asking import one_target, policy_kind
        from bridge.queries.topology import ALL, Bound, hierarchy_below, outcomes_among, picture_of

        chosen = await policy_kind(engine.opa, kind) if kind else None
        key = await one_target(engine.opa, root, namespace) if root else None
        found = await hierarchy_below(engine.opa, key, chosen, depth, refused=True)
        if depth is not None:
            found["refused"] = [link for link in found["refused"] if link["child"] in found["nodes"]]
        picture = picture_of(found, ALL if everything else Bound(), None if root else namespace)
        drawn = (found["nodes"][key] for key in picture.nodes if key in found["nodes"])
        above = (about for about in found["nodes"].values() if about["level"] == "Namespace")
        picture.outcomes = await outcomes_among(engine.opa, (*drawn, *above))
        return picture

    answer, code = read(source, ask)
    click.echo(draw(answer, output), nl=False)
    ctx.exit(code)


_TREE_EXAMPLES = (
    ("Everything, from the GatewayClasses down", "bridge tree --manifests examples/shop"),
    ("Everything below one listener, from a running OPA", "bridge tree gtw/public#https --opa http://opa:8181"),
    ("Only Gateways and their listeners", "bridge tree gatewayclass/example --depth 2 --manifests examples/shop"),
    ("All routes of a Gateway with thousands of them", "bridge tree gtw/infra/public --all"),
)


@click.command(
    cls=ExampleCommand, examples=_TREE_EXAMPLES, short_help="Show the hierarchy with the policies at each node"
)
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
    children the first are drawn, those with policies before the others.
    """
    from bridge.cli.printers.tree import tree_table
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> Tree:
        from bridge.queries.asking import one_target, policy_kind
        from bridge.queries.topology import tree_below

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
