"""The entry point of `pbctl`, which is also installed as `kubectl-bridge`.

Exit codes: 0 success, 1 problems found, 2 usage or input error, with one line on standard error.
"""

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

from bridge.cli.command import DEBUG, NAME, Group, option
from bridge.cli.output import print_error
from bridge.model.text import plain

_INTERRUPTED = 130  # the shell's exit code for a program that SIGINT ended
_BROKEN_PIPE = 141  # the shell's exit code for a program that SIGPIPE ended
# The commands by the heading of the help; each is in the module with its name, except those of _MODULES.
_SECTIONS = {
    "Ask": ("effective", "explain", "request", "describe", "get", "tree", "graph"),
    "Review": ("analyze", "impact", "compare", "test", "problems", "violations", "status", "placement", "reasons"),
    "Run": ("run", "fleet", "doctor", "uninstall-status"),
    "Set up": (
        *("init", "crds", "rbac", "config", "opa-config", "webhook-config"),
        *("credentials", "token", "completion", "version"),
    ),
}
_MODULES = dict.fromkeys(("crds", "opa-config", "webhook-config", "credentials", "token"), "installation")
_COMMANDS = [name for names in _SECTIONS.values() for name in names]
_ALIASES = {"diff": "analyze"}  # kubectl's name for it


class _Root(Group):
    """A group that imports a command's module when the command is named: each has libraries that others do not need."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the library's signature
        """Return the commands' names, without aliases."""
        return _COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the library's
        """Return the command with a name or an alias, None for an unknown name."""
        name = _ALIASES.get(cmd_name, cmd_name)
        if name not in _COMMANDS:
            return None
        attribute = name.replace("-", "_")
        module = importlib.import_module(f"bridge.cli.{_MODULES.get(name, attribute)}")
        command: click.Command = getattr(module, attribute)
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


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.invoke(ctx.command.get_command(ctx, "version"))  # type: ignore[attr-defined]
        ctx.exit()


_VERSION = option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the versions of the bridge, its Rego, Python and OPA.",
)


def _show_help() -> None:
    """Effective policies of Gateway API, computed by Open Policy Agent.

    Examples:
        # Which policies apply to one rule of a route, in a folder
        pbctl effective httproute/cart#checkout -n shop --manifests examples/shop
        # Why, from the cluster of the current context
        pbctl explain httproute/cart -n shop
        # What a change does, before it is applied
        pbctl analyze -f change.yaml
    """
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


pbctl = _Root(
    NAME,
    help=_show_help.__doc__,
    callback=_show_help,
    params=[_VERSION, DEBUG],
    commands=dict.fromkeys((*_COMMANDS, *_ALIASES), click.Command(None)),  # the names that an error suggests
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    sys.exit(run_command(sys.argv[1:], _called_by(sys.argv[0])))


def run_command(arguments: Sequence[str], called_by: str = NAME) -> int:
    """Run a command line and return the exit code. Every error becomes one line on standard error.

    As with kubectl, `help COMMAND` is `COMMAND --help`, and options such as `-n NAMESPACE` may precede the command.
    """
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    arguments = _command_first(arguments)
    debug = "--debug" in arguments
    try:
        code = pbctl.main(list(arguments), prog_name=called_by, standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as missing:  # a group without a command
        click.echo(missing.format_message())
        return 0
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe; the interpreter must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - whatever it is, a person gets one line
        if debug:
            traceback.print_exc()
        text, hint = one_line(error), _path_hint(arguments)
        print_error(f"error: {text.partition('; did you mean')[0] if hint else text}{hint}")
        return 2
    return code if isinstance(code, int) else 0


_FLAGS = {"-A", "--all-namespaces"}
# options that may come first
_BEFORE = {"-n", "--namespace", "-o", "--output", "--opa", "--manifests", "--kubeconfig", "--context", *_FLAGS}


def _command_first(arguments: Sequence[str]) -> list[str]:
    at = 0
    while at < len(arguments) and arguments[at].partition("=")[0] in _BEFORE:
        at += 1 if "=" in arguments[at] or arguments[at] in _FLAGS else 2
    return [*arguments[at : at + 1], *arguments[:at], *arguments[at + 1 :]]


def _path_hint(arguments: Sequence[str]) -> str:
    """Return the hint for a file or folder that is given as the name of an object, empty without one."""
    named = [
        text
        for before, text in itertools.pairwise(arguments)
        if not before.startswith("-") and re.search("[./]", text) and Path(text).exists()
    ]
    takes_paths = {"--manifests", "analyze", "diff", "test", "tests"}.intersection(arguments)
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


def complete_for_kubectl() -> None:
    """Answer `kubectl_complete-bridge WORD… INCOMPLETE`: print a line for each completion, then a directive."""
    from click.shell_completion import ShellComplete

    *words, incomplete = sys.argv[1:] or [""]
    files = half = False
    for item in ShellComplete(pbctl, {}, NAME, "_PBCTL_COMPLETE").get_completions(words, incomplete):
        files = files or item.type != "plain"
        half = half or item.value.endswith("/")
        if item.type == "plain" and item.value.isprintable():
            print(f"{item.value}\t{plain(item.help)}" if item.help else item.value)
    print(f":{0 if files else 4 + 2 * half}")  # 4: no file names; 2: no blank after an incomplete word


def _called_by(path: str) -> str:
    name = Path(path).name.removesuffix(".exe")
    # kubectl finds a plugin by its file name, while users type a blank.
    return name.replace("kubectl-", "kubectl ", 1) if name.startswith("kubectl-") else NAME


if __name__ == "__main__":
    main()
