"""`bridge get`: lists of policies, policy kinds, effective targets, admins' modules, and objects of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.answers.errors import CommandError
from bridge.cli.completing import OBJECTS
from bridge.cli.getting import LIST_OF
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    FORMATS,
    Input,
    check_watch,
    input_options,
    kind_option,
    namespace_options,
    output_option,
    selector_option,
    watch_option,
)

if TYPE_CHECKING:
    from bridge.cli.getting import Listing
    from bridge.runtime.engine import Engine

_EXAMPLES = (
    ("All policies and their outcomes", "bridge get policies --manifests examples/shop"),
    ("The policies of a namespace with a label, by name alone", "bridge get policies -n shop -l team=web -o name"),
    ("Gateways, routes or Services with their policies", "bridge get routes -n shop --manifests examples/shop"),
    ("Policy kinds and their sources", "bridge get policykinds"),
    ("The targets of one policy kind", "bridge get targets --kind ColorPolicy"),
    ("Admins' Rego and whether OPA has it", "bridge get modules"),
)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The lists that there are, then kinds and objects."""
    lists = [name for name in LIST_OF if name.startswith(incomplete)]
    return sorted(lists) if lists and not ctx.params.get("what") else OBJECTS(ctx, param, incomplete)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="List policies, routes, Gateways, modules and more")
@click.argument("what", metavar="WHAT [NAME]...", nargs=-1, shell_complete=_complete)
@kind_option("Only this policy kind: ColorPolicy, colorpolicies.example.com, …")
@namespace_options(only="Only objects of this namespace.")
@selector_option
@input_options
@output_option(*FORMATS)
@watch_option
@debug_option
@click.pass_context
def get(
    ctx: click.Context,
    what: tuple[str, ...],
    kind: str | None,
    namespace: str | None,
    selector: str | None,
    source: Input,
    output: str,
    watch: bool,
) -> None:
    """List policies, policykinds, targets (effective targets that have a policy), modules, or objects of a kind.

    Kinds are written as kubectl takes them: gateways, gtw, httproutes, svc, routes (all kinds of routes), KIND NAME or
    KIND/NAME. SCOPES counts the paths on which a policy has an effect, of all paths that it reaches.
    """
    from bridge.cli.getting import listing
    from bridge.cli.label_selectors import parse_selector
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.get import LISTS
    from bridge.cli.reading import read
    from bridge.cli.watching import watch as watched

    if not what:
        raise CommandError("what to list: give policies, policykinds, targets, modules or a kind such as routes")
    selects = parse_selector(selector) if selector is not None else None

    async def ask(engine: Engine) -> Listing:
        return await listing(engine, what, kind, namespace, selects)

    nothing = "Nothing found."
    if watch:
        check_watch(source, output)
        watched(source, ask, lambda found: LISTS[found.form].tables(found.entries, output == "wide"), nothing)
    answer, code = read(source, ask)
    shown = LISTS[answer.form]
    print_answer(
        output,
        answer,
        lambda found, wide: shown.tables(found.entries, wide),
        shown.nothing,
        document=lambda found: found.entries,
    )
    ctx.exit(code)
