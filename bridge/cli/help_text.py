"""Help in kubectl's style: the purpose of a command, examples, then the options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


class ExampleCommand(click.Command):
    """A command whose help shows `examples`: pairs of a description and a command line that begins with `bridge`."""

    def __init__(self, *args: Any, examples: tuple[tuple[str, str], ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples before the options."""
        called_by = ctx.find_root().info_name or "bridge"
        with formatter.section("Examples"):
            for index, (about, line) in enumerate(self.examples):
                if index:
                    formatter.write("\n")
                command_line = line.replace(f"bridge {self.name} ", f"bridge {ctx.info_name} ", 1)  # an alias
                command_line = command_line.replace("bridge", called_by, 1)
                formatter.write(f"  # {about}\n  {command_line}\n")
        super().format_options(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; `--manifests a.yaml b.yaml`, as a shell expands `*.yaml`, means both files."""
        return super().parse_args(ctx, _each_its_own_option("--manifests", args))


class ExampleGroup(ExampleCommand, click.Group):
    """A group of commands, whose help shows `examples` too."""


def _each_its_own_option(option: str, args: list[str]) -> list[str]:
    """Return the arguments with `option` inserted before every existing path that follows its first value."""
    spread: list[str] = []
    following = False
    for index, arg in enumerate(args):
        given = index > 0 and args[index - 1] == option
        following = given or (following and (arg == "-" or (not arg.startswith("-") and Path(arg).exists())))
        if following and not given:
            spread.append(option)
        spread.append(arg)
    return spread


def debug_option(command: _Decorated) -> _Decorated:
    """Add the flag that every command takes; `run_command` reads it."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)
