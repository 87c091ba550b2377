"""The examples in the help of commands, as a user types them in a clone."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from bridge.cli.command import Command
from bridge.cli.main import pbctl
from tests.e2e.conftest import ROOT, Run

OF_THE_SHOP = re.compile(r" --manifests examples/shop$")  # the shared OPA has it
UNTESTED = re.compile(r"pbctl run|--watch|[|>&]")  # servers, and commands that need more than the bridge


def examples(command: click.Command) -> Iterator[str]:
    if isinstance(command, Command):
        yield from (line for _, line in command.examples if "examples/" in line and not UNTESTED.search(line))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if part := command.get_command(context, name):
                yield from examples(part)


@pytest.mark.parametrize("line", sorted(set(examples(pbctl))))
def test_example_of_the_help_works_as_typed(bridge: Run, shop: Run, line: str) -> None:
    if OF_THE_SHOP.search(line):
        answer = shop(*shlex.split(OF_THE_SHOP.sub("", line))[1:])
    else:
        answer = bridge(*(str(ROOT / word) if word.startswith("examples/") else word for word in shlex.split(line)[1:]))
    assert answer.returncode in {0, 1}, answer.stderr
    assert answer.stderr == ""
    assert answer.stdout
