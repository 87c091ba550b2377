"""`bridge reasons`: what the reasons of conditions, problems and rejected links mean, and what to do."""

from __future__ import annotations

import dataclasses
import difflib

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import output_option
from bridge.queries.names import CommandError

_EXAMPLES = (
    ("What NoScope means, and what to do", "bridge reasons NoScope"),
    ("All reasons", "bridge reasons"),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Explain the reasons of conditions and problems")
@click.argument("names", metavar="[REASON]...", nargs=-1)
@output_option("table", "json", "yaml", "name")
@debug_option
def reasons(names: tuple[str, ...], output: str) -> None:
    """Explain reasons: NoScope, TargetNotFound, NotAllowedByListeners, … Without REASON list all."""
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.table import Column, Table
    from bridge.queries.reasons import explained_reasons

    known = explained_reasons()
    by_name = {reason.name.lower(): reason.name for reason in known}
    for name in names:
        if name.lower() not in by_name:
            near = difflib.get_close_matches(name.lower(), by_name, n=1)
            hint = f'; did you mean "{by_name[near[0]]}"?' if near else "; `bridge reasons` lists all"
            raise CommandError(f'unknown reason "{name}"{hint}')
    wanted = {name.lower() for name in names} or by_name.keys()
    chosen = [dataclasses.asdict(reason) | {"url": reason.url} for reason in known if reason.name.lower() in wanted]
    columns = [Column("REASON", painted=True), Column("ABOUT"), Column("MEANING", long=True), Column("DO", long=True)]
    table = Table(columns, [[one["name"], one["about"], one["meaning"], one["fix"]] for one in chosen])
    print_answer(output, chosen, lambda _, __: [table], "", names=lambda _: [one["name"] for one in chosen])
