"""`bridge status` and `bridge problems`: the statuses of policies, and everything that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completion import OBJECTS
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, namespace_options, selector_option, view_options, wants_document

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.cli.printers.differences import Position
    from bridge.queries.asking import Entry, Selects
    from bridge.queries.statuses import Statuses

_PROBLEMS_EXAMPLES = (
    ("All problems in a folder", "bridge problems --manifests examples/shop"),
    ("Problems in one namespace of the cluster, with updates", "bridge problems -n shop --watch"),
    ("Problems of one object", "bridge problems httproute/cart -n shop"),
)
_FOUND = 1  # exit code if there are problems


@click.command(cls=ExampleCommand, examples=_PROBLEMS_EXAMPLES, short_help="List problems of existing objects")
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
    from bridge.cli.printers.differences import problems_table
    from bridge.cli.reading import Form, show

    async def ask(engine: Engine) -> tuple[list[Entry], Position]:
        from bridge.queries.analysis import all_problems
        from bridge.queries.asking import target_keys

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


_STATUS_EXAMPLES = (
    ("The statuses of the policies in a folder of manifests", "bridge status --manifests examples/shop"),
    ("The same for a cluster, from its OPA", "bridge status --opa http://opa:8181"),
    ("Each object with its desired status", "bridge status --manifests examples/shop -o yaml"),
)


@click.command(
    cls=ExampleCommand, examples=_STATUS_EXAMPLES, short_help="Show statuses of policies and affected objects"
)
@namespace_options(only="Only policies and affected objects in this namespace.")
@selector_option
@view_options
@debug_option
@click.pass_context
def status(ctx: click.Context, namespace: str | None, selects: Selects | None, view: View) -> None:
    """Show the status of each policy, and the conditions on objects that policies affect.

    -o json and yaml print an array of these objects with their desired status. A policy of a kind in mode Observe,
    whose status the bridge does not write, has the annotation policybridge.io/mode: Observe there.
    """
    from bridge.cli.printers.status import status_tables
    from bridge.cli.reading import Form, show
    from bridge.queries.statuses import objects_with_status, only, statuses

    async def ask(engine: Engine) -> Statuses:
        found = await statuses(engine.opa, with_objects=wants_document(view.output))
        return await only(engine.opa, found, namespace, selects)

    form = Form(
        status_tables,
        "No policies found.",
        document=objects_with_status,
        names=lambda found: [entry["policy"] for entry in found.policies],
    )
    _, code = show(view, ask, form)
    ctx.exit(code)
