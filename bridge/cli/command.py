"""How commands are declared, and their help with examples, in kubectl's style, as a docstring.

    @command("Print a random token", option("--length", help="…"))
    def token(length: int) -> None:
        \"\"\"Print a random token.

        Examples:
            # A token for the web page
            pbctl admin token >token
        \"\"\"

A command that reads a cluster, manifests or an OPA is declared by `bridge.cli.read_commands.read_command`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

NAME = "pbctl"  # `bridge` is a command of iproute2


class Command(click.Command):
    """A command whose help shows the examples of its docstring: pairs of a comment and a command line."""

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:  # noqa: A002 - the library's name
        text, _, examples = inspect.cleandoc(help or "").partition("\n\nExamples:\n")
        super().__init__(*args, **{**kwargs, "help": text})
        lines = [line.strip() for line in examples.splitlines()]
        self.examples = [(about.removeprefix("# "), line) for about, line in zip(lines[::2], lines[1::2], strict=True)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples before the options."""
        called_by = ctx.find_root().info_name or NAME
        with formatter.section("Examples"):
            for index, (about, line) in enumerate(self.examples):
                if index:
                    formatter.write("\n")
                typed = line.replace(f"{NAME} {self.name} ", f"{NAME} {ctx.info_name} ", 1)  # its name may be an alias
                formatter.write(f"  # {about}\n  {typed.replace(NAME, called_by, 1)}\n")
        super().format_options(ctx, formatter)
        if shared := [one.usage(ctx) for one in self.get_params(ctx) if isinstance(one, SharedOption)]:
            with formatter.section(f"Source of the objects (`{called_by} options` explains it)"):
                formatter.write_text(", ".join(shared))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; `--manifests a.yaml b.yaml`, as a shell expands `*.yaml`, means both files.

        `-n=shop` means `-n shop`, as in kubectl.
        """
        takes_value = {
            name[1]: not one.is_flag
            for one in self.params
            if isinstance(one, click.Option)
            for name in one.opts
            if len(name) == 2
        }
        return super().parse_args(ctx, repeat_option("--manifests", split_short_options(args, takes_value)))


class Group(Command, click.Group):
    """A group of commands, whose help shows examples too."""


def split_short_options(args: Sequence[str], takes_value: Mapping[str, bool]) -> list[str]:
    """Return the arguments with `-n=shop` as `-n`, `shop`, also after flags (`-An=shop`).

    `takes_value` has the letter of each short option.
    """
    split: list[str] = []
    for index, arg in enumerate(args):
        if arg == "--":
            return [*split, *args[index:]]
        letters, equals, value = arg[1:].partition("=")
        known = [takes_value.get(letter) for letter in letters]
        is_short = arg.startswith("-") and equals and known == [*(False for _ in letters[:-1]), True]
        split += [f"-{letters}", value] if is_short else [arg]
    return split


def repeat_option(name: str, args: list[str]) -> list[str]:
    """Return the arguments with an option inserted before every existing path that follows its first value."""
    spread: list[str] = []
    following = False
    for index, arg in enumerate(args):
        given = index > 0 and args[index - 1] == name
        following = given or (following and (arg == "-" or (not arg.startswith("-") and Path(arg).exists())))
        if following and not given:
            spread.append(name)
        spread.append(arg)
    return spread


def command(
    short_help: str, *parameters: click.Parameter, cls: type[Command] = Command, group: click.Group | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Make a function a command with these parameters and `--debug`, in a group or of its own.

    The function's name is the command's, and its docstring the help. Its result is the exit code, None for 0.
    """

    def declare(function: Callable[..., Any]) -> click.Command:
        name = function.__name__.replace("_", "-")
        made = cls(name, help=function.__doc__, callback=function, params=[*parameters, DEBUG], short_help=short_help)
        if group is not None:
            group.add_command(made)
        return made

    return declare


def option(*names: str, **attributes: Any) -> click.Option:
    """Return an option."""
    return click.Option(names, **attributes)


class SharedOption(click.Option):
    """An option of many commands, which `pbctl options` explains: the help of a command only names it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:  # noqa: ARG002 - the library's signature
        """Return None: no entry of its own in the help of a command."""
        return None

    def record(self, ctx: click.Context) -> tuple[str, str]:
        """Return how it is written, and its explanation."""
        found = super().get_help_record(ctx)
        assert found is not None  # noqa: S101 - it is not hidden
        return found

    def usage(self, ctx: click.Context) -> str:
        """Return how it is written."""
        return self.record(ctx)[0]


# `run_command` reads it from the command line.
DEBUG = option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
