"""`pbctl reasons`: what the reasons of conditions, problems and rejected links mean, and what to do."""

import dataclasses
from collections.abc import Sequence

from bridge.cli.command import command
from bridge.cli.options import output_option, words
from bridge.cli.output import Answer, print_answer
from bridge.cli.table import Block, Fields, Table
from bridge.model.text import nearest
from bridge.queries.names import CommandError


@command(
    "Explain the reasons of conditions and problems",
    words("[REASON]..."),
    output_option("table", "json", "yaml", "name"),
)
def reasons(words: tuple[str, ...], output: str) -> None:
    """Explain reasons: NoScope, TargetNotFound, NotAllowedByListeners, … Without REASON list all.

    Examples:
        # What NoScope means, and what to do
        pbctl reasons NoScope
        # All reasons
        pbctl reasons
    """
    from bridge.queries.explained_reasons import explained_reasons

    known = explained_reasons()
    by_name = {reason.name.lower(): reason.name for reason in known}
    for name in words:
        if name.lower() not in by_name:
            near = nearest(name.lower(), by_name)
            hint = f'; did you mean "{by_name[near]}"?' if near else "; `pbctl reasons` lists all"
            raise CommandError(f'unknown reason "{name}"{hint}')
    wanted = {name.lower() for name in words} or by_name.keys()
    chosen = [dataclasses.asdict(reason) | {"url": reason.url} for reason in known if reason.name.lower() in wanted]
    titles = ["REASON", "MEANING", "DO", "ABOUT"]
    rows = [[one["name"], one["meaning"], one["fix"], one["about"]] for one in chosen]
    table = Table(titles, [*rows], long=titles[1:3], spare=("ABOUT", "DO"))
    fields = [Fields([(title.capitalize(), cell) for title, cell in zip(titles, row, strict=True)]) for row in rows]
    blocks: Sequence[Block] = fields if words else [table]
    print_answer(output, Answer(lambda: blocks, "", chosen, names=lambda: [one["name"] for one in chosen]))
