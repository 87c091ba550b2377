"""`bridge problems`: what is wrong with the objects that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import OBJECTS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    FORMATS,
    Input,
    check_watch,
    input_options,
    namespace_options,
    output_option,
    selector_option,
    watch_option,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.answers.asking import Entry
    from bridge.model.keys import Key
    from bridge.runtime.engine import Engine

_EXAMPLES = (
    ("Everything that needs a look, in a folder", "bridge problems --manifests examples/shop"),
    ("In one namespace of the cluster, as it changes", "bridge problems -n shop --watch"),
    ("Of one object", "bridge problems httproute/cart -n shop"),
)
_FOUND = 1  # the exit code where there are problems
_NOTHING = "No problems found."


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="What is wrong with objects that exist")
@click.argument("targets", metavar="[OBJECT]...", nargs=-1, shell_complete=OBJECTS)
@namespace_options(only="The namespace of OBJECTs that are given without one; without OBJECT, only what is in it.")
@selector_option
@input_options
@output_option(*FORMATS)
@watch_option
@debug_option
@click.pass_context
def problems(
    ctx: click.Context,
    targets: tuple[str, ...],
    namespace: str | None,
    selector: str | None,
    source: Input,
    output: str,
    watch: bool,
) -> None:
    """List problems: targets that do not exist or are not granted, conflicts, policies without effect, broken links.

    The exit code is 1 if there are any.
    """
    from bridge.cli.label_selectors import parse_selector
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.problems import problems_table
    from bridge.cli.reading import read
    from bridge.cli.watching import watch as watched

    selects = parse_selector(selector) if selector is not None else None

    async def ask(engine: Engine) -> tuple[list[Entry], Callable[[Key], tuple[str, int] | None]]:
        from bridge.answers.asking import target_keys
        from bridge.answers.problems import all_problems

        keys = await target_keys(engine.opa, targets, namespace) if targets else None
        return await all_problems(engine.opa, keys, namespace, selects), engine.position

    if watch:
        check_watch(source, output)
        watched(source, ask, lambda answer: [problems_table(*answer)], _NOTHING)
    answer, code = read(source, ask)
    print_answer(
        output,
        answer,
        lambda found, _: [problems_table(*found)],
        _NOTHING,
        document=lambda found: found[0],
        names=lambda found: [problem["subject"] for problem in found[0]],
    )
    ctx.exit(code or (_FOUND if answer[0] else 0))
