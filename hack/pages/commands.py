"""The help of all commands, in the pages that explain them: one for `pbctl` and one for each command."""

import re
from pathlib import Path

import click
from click.testing import CliRunner

from bridge.cli.main import pbctl

_HELP = re.compile(r"^(\$ pbctl ?([\w-]*) ?--help\n).*?^```$", re.MULTILINE | re.DOTALL)


def command_pages(reference: Path) -> list[str]:
    """Return the names of the pages below `reference`, also of a command whose page is yet to be written."""
    written = [file.stem for file in (reference / "commands").glob("*.md")]
    names = {*written, *pbctl.list_commands(click.Context(pbctl))}
    return ["cli.md", *(f"commands/{name}.md" for name in sorted(names))]


def commands_page(file: Path) -> str:
    """Return the text of a page with the current help of the commands that it shows; a new page has the help alone."""
    name = file.stem
    new = f"# pbctl {name}\n\n```console\n$ pbctl {name} --help\n```\n"
    text = file.read_text(encoding="utf-8") if file.exists() else new
    return _HELP.sub(lambda match: f"{match[1]}{_help(match[2])}\n```", text)


def _help(name: str) -> str:
    # 100 columns, as in any wide terminal, without click's margin.
    arguments = [name, "--help"] if name else ["--help"]
    return CliRunner().invoke(pbctl, arguments, prog_name="pbctl", terminal_width=98).output.rstrip("\n")
