"""The help of all commands, in the pages that explain them: one for `bridge` and one for each command."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from unittest import mock

import click

from bridge.cli.main import bridge

_HELP = re.compile(r"^(\$ bridge ?([\w-]*) ?--help\n).*?^```$", re.MULTILINE | re.DOTALL)


def command_pages(reference: Path) -> list[str]:
    """Return the names of the pages below `reference`, also of a command whose page is yet to be written."""
    written = [file.stem for file in (reference / "commands").glob("*.md")]
    names = {*written, *bridge.list_commands(click.Context(bridge))}
    return ["cli.md", *(f"commands/{name}.md" for name in sorted(names))]


def commands_page(file: Path) -> str:
    """Return the text of a page with the current help of the commands that it shows; a new page has the help alone."""
    name = file.stem
    new = f"# bridge {name}\n\n```console\n$ bridge {name} --help\n```\n"
    text = file.read_text(encoding="utf-8") if file.exists() else new
    return _HELP.sub(lambda match: f"{match[1]}{_help(match[2])}\n```", text)


def _help(name: str) -> str:
    said = io.StringIO()
    # The page's width, whatever the terminal's is.
    with mock.patch.dict(os.environ, {"COLUMNS": "120"}), contextlib.redirect_stdout(said):
        bridge.main([name, "--help"] if name else ["--help"], prog_name="bridge", standalone_mode=False)
    return said.getvalue().rstrip("\n")
