"""The help of all commands, in the page that explains them."""

from __future__ import annotations

import contextlib
import io
import os
import re
from unittest import mock

import click

from bridge.cli.main import bridge

_HELP = re.compile(r"^(\$ bridge ?([\w-]*) ?--help\n).*?^```$", re.MULTILINE | re.DOTALL)


def commands_page(text: str) -> str:
    """Return the page with the current help of each command."""
    for name in bridge.list_commands(click.Context(bridge)):
        if f"\n$ bridge {name} --help\n" not in text:
            text = _with_help(text, name)
    return _HELP.sub(lambda match: f"{match[1]}{_help(match[2])}\n```", text)


def _with_help(text: str, name: str) -> str:
    """Return the page with a placeholder for the help of a command at the end of its section."""
    heading = f"## bridge {name}\n"
    before, _, after = (text if heading in text else f"{text}\n{heading}").partition(heading)
    section, following, others = after.partition("\n## ")
    return f"{before}{heading}{section}\n```console\n$ bridge {name} --help\n```\n{following}{others}"


def _help(name: str) -> str:
    said = io.StringIO()
    # The page's width, whatever the terminal's is.
    with mock.patch.dict(os.environ, {"COLUMNS": "120"}), contextlib.redirect_stdout(said):
        bridge.main([name, "--help"] if name else ["--help"], prog_name="bridge", standalone_mode=False)
    return said.getvalue().rstrip("\n")
