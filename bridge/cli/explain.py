"""`bridge explain`: how what holds at a target came about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import TARGETS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    FORMATS,
    Input,
    input_options,
    kind_option,
    namespace_options,
    output_option,
    source_namespace_option,
)

if TYPE_CHECKING:
    from bridge.answers.asking import Entry
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
@click.argument("target", metavar="TARGET", shell_complete=TARGETS)
@kind_option("Only this policy kind: ColorPolicy, colorpolicies.example.com, …")
@namespace_options(only="The namespace of TARGET where it is given without one.")
@source_namespace_option
@input_options
@output_option(*FORMATS)
@debug_option
@click.pass_context
def explain(
    ctx: click.Context,
    target: str,
    kind: str | None,
    namespace: str | None,
    source_namespace: str | None,
    source: Input,
    output: str,
) -> None:
    """Explain how the effective policies at a target came about.

    For each path to it: the policies from the top down, the steps by which they were merged, and the spec with the
    policy that each field comes from. Then what does not count there, policies and links of the hierarchy, with the
    reason.

    TARGET is an object or a section of it: KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a full key. One above
    the level at which a policy kind acts stands for everything below it.
    """
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.explain import explanation
    from bridge.cli.reading import read

    async def ask(engine: Engine) -> list[Entry]:
        from bridge.answers.asking import explained_at, policy_kind, target_keys

        chosen = await policy_kind(engine.opa, kind) if kind else None
        (key,) = await target_keys(engine.opa, [target], namespace)
        return await explained_at(engine.opa, key, chosen, source_namespace)

    answer, code = read(source, ask)
    print_answer(output, answer, explanation, f"No policy, and nothing that keeps one away, at {target}.")
    ctx.exit(code)
