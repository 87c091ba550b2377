"""`bridge problems`: problems of existing objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import OBJECTS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, namespace_options, selector_option, view_options

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.cli.printers.problems import Position
    from bridge.queries.asking import Entry, Selects

_EXAMPLES = (
    ("All problems in a folder", "bridge problems --manifests examples/shop"),
    ("Problems in one namespace of the cluster, with updates", "bridge problems -n shop --watch"),
    ("Problems of one object", "bridge problems httproute/cart -n shop"),
)
_FOUND = 1  # exit code if there are problems


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="List problems of existing objects")
@click.argument("targets", metavar="[OBJECT]...", nargs=-1, shell_complete=OBJECTS)
@namespace_options(only="The namespace of OBJECTs without one; without OBJECT, list only this namespace.")
@selector_option
@view_options
@debug_option
@click.pass_context
def problems(
    ctx: click.Context,
    targets: tuple[str, ...],
    namespace: str | None,
    selects: Selects | None,
    view: View,
) -> None:
    """List problems: targets that do not exist or are not granted, conflicts, policies without effect, broken links.

    The exit code is 1 if there are any.
    """
    from bridge.cli.printers.problems import problems_table
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> tuple[list[Entry], Position]:
        from bridge.queries.asking import target_keys
        from bridge.queries.problems import all_problems

        keys = await target_keys(engine.opa, targets, namespace) if targets else None
        return await all_problems(engine.opa, keys, namespace, selects), engine.position

    form: Form[tuple[list[Entry], Position]] = Form(
        lambda found, _: [problems_table(*found)],
        "No problems found.",
        document=lambda found: found[0],
        names=lambda found: [problem["subject"] for problem in found[0]],
    )
    answer, code = show(view, ask, form)
    ctx.exit(code or (_FOUND if answer[0] else 0))
