"""`bridge get`: lists of policies, policy kinds and effective targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import (
    FORMATS,
    Input,
    check_watch,
    input_options,
    kind_option,
    namespace_options,
    output_option,
    watch_option,
)

if TYPE_CHECKING:
    from bridge.answers.asking import Entry
    from bridge.runtime.engine import Engine

_EXAMPLES = (
    ("All policies, with what became of them", "bridge get policies --manifests examples/shop"),
    ("Those of a namespace with a label, by name alone", "bridge get policies -n shop -l team=web -o name"),
    ("Policy kinds, and who describes them", "bridge get policykinds"),
    ("What one kind's policies reach", "bridge get targets --kind ColorPolicy"),
)
# As with kubectl, one or several, and short.
_NAMES = {
    "policies": ("policies", "policy", "pol"),
    "policykinds": ("policykinds", "policykind", "pk"),
    "targets": ("targets", "target"),
}
_WHAT = {name: what for what, names in _NAMES.items() for name in names}
_NOTHING = {"policies": "No policies found.", "policykinds": "No policy kinds found.", "targets": "No targets found."}


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="List policies, policy kinds or targets")
@click.argument("what", metavar="policies|policykinds|targets", type=click.Choice(sorted(_WHAT)))
@kind_option("Only this policy kind: ColorPolicy, colorpolicies.example.com, …")
@namespace_options(only="Only policies, or targets, of this namespace.")
@click.option(
    "-l",
    "--selector",
    metavar="SELECTOR",
    help="Only policies, or targets, with these labels: a=b, a!=b, a in (b,c), a, !a.",
)
@input_options
@output_option(*FORMATS, "name")
@watch_option
@debug_option
@click.pass_context
def get(
    ctx: click.Context,
    what: str,
    kind: str | None,
    namespace: str | None,
    selector: str | None,
    source: Input,
    output: str,
    watch: bool,
) -> None:
    """List policies, policy kinds, or the effective targets that have a policy.

    SCOPES counts the paths on which a policy has a say, of all that it reaches. With -o name: keys, which every command
    takes for names.
    """
    from bridge.cli.label_selectors import parse_selector
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.get import TABLES, print_names
    from bridge.cli.reading import read
    from bridge.cli.watching import watch as watched

    listed = _WHAT[what]
    selects = parse_selector(selector) if selector is not None else None

    async def ask(engine: Engine) -> list[Entry]:
        from bridge.answers.asking import policy_kind
        from bridge.cli.getting import listed_kinds, listed_policies, listed_targets

        chosen = await policy_kind(engine.opa, kind) if kind else None
        if listed == "policykinds":
            return await listed_kinds(engine.opa, chosen)
        lists = listed_policies if listed == "policies" else listed_targets
        return await lists(engine.opa, chosen, namespace, selects)

    if watch:
        check_watch(source, output)
        watched(source, ask, lambda answer: TABLES[listed](answer, output == "wide"), _NOTHING[listed])
    answer, code = read(source, ask)
    if output == "name":
        print_names(answer)
    else:
        print_answer(output, answer, TABLES[listed], _NOTHING[listed])
    ctx.exit(code)
