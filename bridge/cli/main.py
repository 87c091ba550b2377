"""The entry point of `bridge`, which is also installed as `kubectl-bridge`.

Exit codes: 0 success, 1 problems found, 2 usage or input error, with one line on standard error.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bridge.cli.analysis import analyze, impact
from bridge.cli.completion import completion
from bridge.cli.config import config
from bridge.cli.doctor import doctor, show_version, version
from bridge.cli.effective import describe, effective, explain
from bridge.cli.get import get
from bridge.cli.help_text import debug_option
from bridge.cli.init import init
from bridge.cli.installation import crds, credentials, opa_config, token, webhook_config
from bridge.cli.rbac import rbac
from bridge.cli.request import request
from bridge.cli.run import run
from bridge.cli.status import placement, problems, status, violations
from bridge.cli.terminal import print_error
from bridge.cli.topology import graph, tree
from bridge.cli.uninstall_status import uninstall_status

_INTERRUPTED = 130  # the shell's exit code for a program that SIGINT ended
_BROKEN_PIPE = 141  # the shell's exit code for a program that SIGPIPE ended
_COMMANDS: tuple[click.Command, ...] = (
    effective,
    explain,
    request,
    tree,
    graph,
    impact,
    analyze,
    get,
    describe,
    problems,
    status,
    placement,
    violations,
    run,
    config,
    opa_config,
    credentials,
    token,
    webhook_config,
    rbac,
    crds,
    init,
    uninstall_status,
    doctor,
    completion,
    version,
)


class _Root(click.Group):
    """A group that lists its commands in registration order: reading first, then running, then rare ones."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the library's signature
        """Return the commands' names, without aliases."""
        return [name for name, command in self.commands.items() if command.name == name]

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C ends it without output."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None  # click would print an empty line first


@click.group(
    cls=_Root,
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


for _command in _COMMANDS:
    bridge.add_command(_command)
bridge.add_command(analyze, "diff")  # kubectl's name for it


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    sys.exit(run_command(sys.argv[1:], _called_by(sys.argv[0])))


def run_command(arguments: Sequence[str], called_by: str = "bridge") -> int:
    """Run a command line and return the exit code. Every error becomes one line on standard error."""
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
        print_error(f"error: {one_line(error)}")
        return 2
    return code if isinstance(code, int) else 0


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
