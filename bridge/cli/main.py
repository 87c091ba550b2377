"""The entry point of `pbctl`, which is also installed as `kubectl-bridge`.

Exit codes: 0 success, 1 problems found, 2 usage or input error, with one line on standard error.
"""

import importlib
import itertools
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bridge.cli.command import DEBUG, NAME, Group, option
from bridge.cli.output import print_error
from bridge.model.text import plain

_INTERRUPTED = 130  # the shell's exit code for a program that SIGINT ended
_BROKEN_PIPE = 141  # the shell's exit code for a program that SIGPIPE ended
_Sections = Mapping[str, Sequence[str]]  # names of commands by the heading of a help

_COMMANDS: _Sections = {
    "Find out": ("effective", "explain", "request", "get", "graph"),
    "Check": ("problems", "analyze", "doctor"),
    "Operate": ("run",),
}
_MORE = (
    *("admin", "verify", "blame", "describe", "tree", "status", "compare", "test", "init", "reasons", "options"),
    *("completion", "version"),
)
_ADMIN: _Sections = {
    "Set up": ("crds", "rbac", "config", "opa-config", "webhook-config", "credentials", "token"),
    "Operate": ("fleet", "placement", "export", "uninstall-status"),
}
# Names that no help lists: kubectl's name for `analyze`, and former ones.
_HIDDEN = ("diff", "impact", "violations", *(name for names in _ADMIN.values() for name in names))
# The modules of commands whose module has not their name.
_MODULES = {
    **dict.fromkeys(("crds", "opa-config", "webhook-config", "credentials", "token"), "installation"),
    "impact": "analyze",
    "violations": "problems",
    "options": "source",
}


class _LazyGroup(Group):
    """A group that imports a command's module when the command is named: each has libraries that others do not need.

    `sections` are its commands by their heading in the help, `more` those that only the help of all commands lists,
    `hidden` those that none lists.
    """

    def __init__(
        self,
        name: str,
        sections: _Sections,
        *,
        more: Sequence[str] = (),
        hidden: Sequence[str] = (),
        params: Sequence[click.Parameter] = (),
        **attributes: Any,
    ) -> None:
        self._sections, self._more = sections, more
        self._listed = [*(name for names in sections.values() for name in names), *more]
        known = dict.fromkeys((*self._listed, *hidden), click.Command(None))  # the names that an error suggests
        super().__init__(name, commands=known, params=[*params, DEBUG], **attributes)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the library's signature
        """Return the commands' names, without hidden ones."""
        return self._listed

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the library's
        """Return the command with a name, None for an unknown name."""
        if cmd_name not in self.commands:
            return None
        if cmd_name == admin.name:
            return admin
        name = "analyze" if cmd_name == "diff" else cmd_name
        module = importlib.import_module(f"bridge.cli.{_MODULES.get(name, name.replace('-', '_'))}")
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, all in one column; the others below, by their names alone."""
        every = ctx.meta.get(_EVERY, False)
        sections = {**self._sections, **({"More": self._more, "Admin": admin.list_commands(ctx)} if every else {})}
        width = max(len(name) for names in sections.values() for name in names)
        for heading, names in sections.items():
            group = admin if heading == "Admin" else self
            commands = [(name, command) for name in names if (command := group.get_command(ctx, name))]
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), command.get_short_help_str(60)) for name, command in commands])
        if self._more and not every:
            formatter.write_paragraph()
            called_by = ctx.find_root().info_name
            formatter.write_text(f"More: {', '.join(self._more)}. `{called_by} help --all` describes all commands.")

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


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_EVERY] = True
        click.echo(ctx.get_help())
        ctx.exit()


_EVERY = "bridge.cli.main.every"  # in a context's `meta`: the help lists every command
_VERSION = option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the versions of the bridge, its Rego, Python and OPA.",
)
_HELP_ALL = option("--help-all", is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=_show_all)


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


def _admin() -> None:
    """Set up Policy Bridge in a cluster and beside OPAs, check the installation, and remove it.

    Examples:
        # The roles that a bridge with these settings needs
        pbctl admin rbac --config bridge.yaml | kubectl apply -f -
        # Mistakes in a settings file
        pbctl admin config check bridge.yaml
    """


admin = _LazyGroup("admin", _ADMIN, help=_admin.__doc__, short_help="Set up, operate and remove an installation")
pbctl = _LazyGroup(
    NAME,
    _COMMANDS,
    more=_MORE,
    hidden=_HIDDEN,
    params=[_VERSION, _HELP_ALL],
    help=_show_help.__doc__,
    callback=_show_help,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    sys.exit(run_command(sys.argv[1:], _called_by(sys.argv[0])))


def run_command(arguments: Sequence[str], called_by: str = NAME) -> int:
    """Run a command line and return the exit code. Every error becomes one line on standard error.

    As with kubectl, `help COMMAND` is `COMMAND --help`, and options such as `-n NAMESPACE` may precede the command.
    `help --all` lists every command.
    """
    if arguments[:1] == ["help"]:
        arguments = ["--help-all"] if "--all" in arguments else [*arguments[1:], "--help"]
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
        text = one_line(error)
        hint = _path_hint(arguments, text)
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


def _path_hint(arguments: Sequence[str], message: str) -> str:
    """Return the hint for a file or folder that is given as a kind or the name of an object, empty without one."""
    named = [
        text
        for before, text in itertools.pairwise(arguments)
        if not before.startswith("-")
        and (re.search("[./]", text) or f"{text!r} is not a kind" in message)
        and Path(text).exists()
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
