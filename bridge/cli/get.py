"""`bridge get`: list policies, policy kinds, effective targets, admins' modules, and objects of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.completing import OBJECTS
from bridge.cli.getting import LIST_OF, nothing_to_list
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, kind_option, namespace_options, selector_option, view_options
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.cli.getting import ListedObjects
    from bridge.queries.asking import Selects

_EXAMPLES = (
    ("All policies and their outcomes", "bridge get policies --manifests examples/shop"),
    ("The names of a namespace's policies with a label", "bridge get policies -n shop -l team=web -o name"),
    ("Gateways, routes or Services with their policies", "bridge get routes -n shop --manifests examples/shop"),
    ("Policy kinds and their sources", "bridge get policykinds"),
    ("The targets of one policy kind", "bridge get targets --kind ColorPolicy"),
    ("Admins' Rego and whether OPA has it", "bridge get modules"),
)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the names of lists, then kinds and objects."""
    lists = [name for name in LIST_OF if name.startswith(incomplete)]
    return sorted(lists) if lists and not ctx.params.get("what") else OBJECTS(ctx, param, incomplete)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="List policies, routes, Gateways, modules and more")
@click.argument("what", metavar="WHAT [NAME]...", nargs=-1, shell_complete=_complete)
@kind_option("Only this policy kind: ColorPolicy, colorpolicies.example.com, …")
@namespace_options(only="Only objects in this namespace.")
@selector_option
@view_options
@debug_option
@click.pass_context
def get(
    ctx: click.Context,
    what: tuple[str, ...],
    kind: str | None,
    namespace: str | None,
    selects: Selects | None,
    view: View,
) -> None:
    """List policies, policykinds, targets (effective targets that have a policy), modules, or objects of a kind.

    Write kinds as for kubectl: gateways, gtw, httproutes, svc, routes (all kinds of routes), KIND NAME or KIND/NAME.
    SCOPES is the number of paths on which a policy has an effect, and of all its paths.
    """
    from bridge.cli.getting import listing
    from bridge.cli.printers.get import LISTS
    from bridge.cli.reading import Form, show

    if not what:
        raise CommandError("missing list: give policies, policykinds, targets, modules or a kind such as routes")

    async def ask(engine: Engine) -> ListedObjects:
        return await listing(engine, what, kind, namespace, selects)

    form: Form[ListedObjects] = Form(
        lambda found, wide: LISTS[found.form](found.entries, wide),
        nothing_to_list(what),
        document=lambda found: found.entries,
    )
    _, code = show(view, ask, form)
    ctx.exit(code)
