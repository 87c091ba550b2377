"""`bridge effective`: the effective policies at targets, or at all that have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import TARGETS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    FORMATS,
    Input,
    check_watch,
    input_options,
    kind_option,
    namespace_options,
    output_option,
    source_namespace_option,
    watch_option,
)

if TYPE_CHECKING:
    from bridge.answers.asking import Entry
    from bridge.runtime.engine import Engine

_EXAMPLES = (
    ("Everything that a policy reaches, from a folder of manifests", "bridge effective --manifests examples/shop"),
    (
        "One rule of a route, from a running OPA",
        "bridge effective httproute/cart#checkout -n shop --opa http://opa:8181",
    ),
    ("What holds below one listener", "bridge effective gtw/public#https --manifests examples/shop"),
    ("One policy kind, as OPA answers it", "bridge effective --kind colorpolicies --manifests examples/shop -o json"),
    ("What kustomize makes", "kubectl kustomize . | bridge effective --manifests -"),
)
_NOTHING = "No effective policies found."


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Effective policies at targets, or everywhere")
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=TARGETS)
@kind_option("Only this policy kind: ColorPolicy, colorpolicies.example.com, …")
@namespace_options(only="The namespace of TARGETs that are given without one; without TARGET, only what is in it.")
@source_namespace_option
@input_options
@output_option(*FORMATS)
@watch_option
@debug_option
@click.pass_context
def effective(
    ctx: click.Context,
    targets: tuple[str, ...],
    kind: str | None,
    namespace: str | None,
    source_namespace: str | None,
    source: Input,
    output: str,
    watch: bool,
) -> None:
    """Show effective policies: which spec holds at a target, and which policies it comes from.

    TARGET is an object or a section of it: KIND NAME, KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a full key;
    KIND alone stands for all objects of the kind. A target above the level at which a policy kind acts stands for
    everything below it. Without TARGET: all that a policy reaches.
    """
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.effective import effective_tables
    from bridge.cli.reading import read
    from bridge.cli.watching import watch as watched

    async def ask(engine: Engine) -> list[Entry]:
        from bridge.answers.asking import effective_at, effective_everywhere, policy_kind, target_keys

        chosen = await policy_kind(engine.opa, kind) if kind else None
        if not targets:
            return await effective_everywhere(engine.opa, chosen, namespace, source_namespace)
        keys = await target_keys(engine.opa, targets, namespace)
        return await effective_at(engine.opa, keys, chosen, source_namespace)

    if watch:
        check_watch(source, output)
        watched(source, ask, lambda answer: effective_tables(answer, output == "wide"), _NOTHING)
    answer, code = read(source, ask)
    print_answer(output, answer, effective_tables, _NOTHING)
    ctx.exit(code)
