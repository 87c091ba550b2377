"""`bridge graph`: draw the hierarchy, with the policies at each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import TARGETS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import Input, depth_option, input_options, kind_option, namespace_options, output_option

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.queries.pictures import Picture

_EXAMPLES = (
    ("Draw a picture for a browser or a README", "bridge graph --manifests examples/shop -o svg >shop.svg"),
    ("Draw everything below one Gateway, for a page in Markdown", "bridge graph gtw/infra/public -o mermaid"),
    ("Draw one namespace, with the nodes above it", "bridge graph -n shop --manifests examples/shop -o svg >shop.svg"),
    ("For graphviz", "bridge graph --kind ColorPolicy -o dot | dot -Tpng >graph.png"),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Draw the hierarchy")
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
    from bridge.cli.pictures import drawn
    from bridge.cli.reading import read

    async def ask(engine: Engine) -> Picture:
        from bridge.queries.asking import one_target, policy_kind
        from bridge.queries.pictures import ALL, Bound, picture_of
        from bridge.queries.trees import hierarchy_below, outcomes_among

        chosen = await policy_kind(engine.opa, kind) if kind else None
        key = await one_target(engine.opa, root, namespace) if root else None
        found = await hierarchy_below(engine.opa, key, chosen, depth, refused=True)
        if depth is not None:
            found["refused"] = [link for link in found["refused"] if link["child"] in found["nodes"]]
        picture = picture_of(found, ALL if everything else Bound(), None if root else namespace)
        shown = (found["nodes"][key] for key in picture.nodes if key in found["nodes"])
        above = (about for about in found["nodes"].values() if about["level"] == "Namespace")
        picture.outcomes = await outcomes_among(engine.opa, (*shown, *above))
        return picture

    answer, code = read(source, ask)
    click.echo(drawn(answer, output), nl=False)
    ctx.exit(code)
