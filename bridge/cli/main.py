"""The entry point of `bridge`, which is also installed as `kubectl-bridge`.

Exit codes: 0 success, 1 problems found, 2 usage or input error, with one line on standard error.
"""

from __future__ import annotations

import importlib
import itertools
import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bridge.cli.help_text import ExampleGroup, debug_option
from bridge.cli.terminal import print_error
from bridge.cli.version import show_version

_INTERRUPTED = 130  # the shell's exit code for a program that SIGINT ended
_BROKEN_PIPE = 141  # the shell's exit code for a program that SIGPIPE ended
# The commands by the heading of the help, each with the module that has it.
_SECTIONS = {
    "Ask": {
        "effective": "effective",
        "explain": "effective",
        "request": "request",
        "describe": "effective",
        "get": "get",
        "tree": "topology",
        "graph": "topology",
    },
    "Review": {
        "analyze": "analysis",
        "impact": "analysis",
        "problems": "status",
        "violations": "status",
        "status": "status",
        "placement": "status",
        "reasons": "reasons",
    },
    "Run": {
        "run": "run",
        "doctor": "doctor",
        "uninstall-status": "uninstall_status",
    },
    "Set up": {
        "init": "init",
        "crds": "installation",
        "rbac": "rbac",
        "config": "config",
        "opa-config": "installation",
        "webhook-config": "installation",
        "credentials": "installation",
        "token": "installation",
        "completion": "completion",
        "version": "version",
    },
}
_COMMANDS = {name: module for commands in _SECTIONS.values() for name, module in commands.items()}
_ALIASES = {"diff": "analyze"}  # kubectl's name for it


class _Root(ExampleGroup):
    """A group that imports a command's module when the command is named: each has libraries that others do not need."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the library's signature
        """Return the commands' names, without aliases."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the library's
        """Return the command with a name or an alias, None for an unknown name."""
        name = _ALIASES.get(cmd_name, cmd_name)
        if name not in _COMMANDS:
            return None
        module = importlib.import_module(f"bridge.cli.{_COMMANDS[name]}")
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, all in one column."""
        width = max(map(len, _COMMANDS))
        for heading, names in _SECTIONS.items():
            commands = [(name, command) for name in names if (command := self.get_command(ctx, name))]
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), command.get_short_help_str(60)) for name, command in commands])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C ends it without output."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None  # click would print an empty line first


@click.group(
    cls=_Root,
    examples=(
        (
            "Which policies apply to one rule of a route, in a folder",
            "bridge effective httproute/cart#checkout -n shop --manifests examples/shop",
        ),
        ("Why, from the cluster of the current context", "bridge explain httproute/cart -n shop"),
        ("What a change does, before it is applied", "bridge analyze -f change.yaml"),
    ),
    commands=dict.fromkeys((*_COMMANDS, *_ALIASES), click.Command(None)),  # the names that an error suggests
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the versions of the bridge, its Rego, Python and OPA.",
)
@debug_option
@click.pass_context
def bridge(ctx: click.Context) -> None:
    """Effective policies of Gateway API, computed by Open Policy Agent."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    sys.exit(run_command(sys.argv[1:], _called_by(sys.argv[0])))


def run_command(arguments: Sequence[str], called_by: str = "bridge") -> int:
    """Run a command line and return the exit code. Every error becomes one line on standard error.

    As with kubectl, `help COMMAND` is `COMMAND --help`, and `-n NAMESPACE` may precede the command.
    """
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    arguments = _command_first(arguments)
    debug = "--debug" in arguments
    try:
        code = bridge.main(list(arguments), prog_name=called_by, standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe; the interpreter must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - whatever it is, a person gets one line
        if debug:
            traceback.print_exc()
        print_error(f"error: {one_line(error)}{_path_hint(arguments)}")
        return 2
    return code if isinstance(code, int) else 0


_BEFORE = {"-n", "--namespace", "--opa", "--manifests", "--kubeconfig", "--context"}  # options that may come first


def _command_first(arguments: Sequence[str]) -> list[str]:
    at = 0
    while at < len(arguments) and arguments[at].partition("=")[0] in _BEFORE:
        at += 1 if "=" in arguments[at] else 2
    return [*arguments[at : at + 1], *arguments[:at], *arguments[at + 1 :]]


def _path_hint(arguments: Sequence[str]) -> str:
    """Return the hint for a file or folder that is given as the name of an object, empty without one."""
    named = [
        text
        for before, text in itertools.pairwise(arguments)
        if not before.startswith("-") and re.search("[./]", text) and Path(text).exists()
    ]
    takes_paths = {"--manifests", "analyze", "diff"}.intersection(arguments)
    return f"; did you mean --manifests {named[0]}?" if named and not takes_paths else ""


def one_line(error: BaseException) -> str:
    """Return one line for any error. The bridge's own errors and usage errors keep their message."""
    if isinstance(error, BaseExceptionGroup):
        return one_line(error.exceptions[0])
    if isinstance(error, click.ClickException):
        return _explain_usage(error)
    text = " ".join(str(error).split())
    if type(error).__module__.startswith("bridge.") and text:
        return text
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"unexpected {type(error).__name__}: {text or 'no message'} (use --debug for the traceback)"


def _explain_usage(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")
    message = message[:1].lower() + message[1:]
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message} (see `{context.command_path} --help`)" if context else message


def _called_by(path: str) -> str:
    name = Path(path).name.removesuffix(".exe")
    # kubectl finds a plugin by its file name, while users type a blank.
    return name.replace("kubectl-", "kubectl ", 1) if name.startswith("kubectl-") else "bridge"


if __name__ == "__main__":
    main()
