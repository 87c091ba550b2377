"""The help of all commands, on one page."""

from collections.abc import Iterator

import click
from click.testing import CliRunner

from bridge.cli.main import pbctl

_INTRODUCTION = """# Help texts of all commands

<!-- `make reference` writes this page, from bridge/cli -->

`pbctl COMMAND --help` prints the same. [Read what commands print](../reference/commands.md) has examples with output.
"""


def help_page() -> str:
    """Return the text of the page: a section with its help for each command, groups included."""
    return _INTRODUCTION + "".join(_section(words) for words in _commands(pbctl, ()))


def _commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in sorted(command.list_commands(context)):
            part = command.get_command(context, name)
            if part is not None and not part.hidden:
                yield from _commands(part, (*words, name))


def _section(words: tuple[str, ...]) -> str:
    # 100 columns, as in any wide terminal, without click's margin.
    answer = CliRunner().invoke(pbctl, [*words, "--help"], prog_name="pbctl", terminal_width=98)
    name = " ".join(("pbctl", *words))
    return f"\n## {name}\n\n```\n{answer.output.rstrip()}\n```\n"
