"""`bridge completion`: print a shell completion script."""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

from bridge.cli.help_text import ExampleCommand, debug_option

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_BRIDGE_COMPLETE"  # variable by which the script calls the command

_EXAMPLES = (
    ("Enable it in this bash", "source <(bridge completion bash)"),
    ("Enable it in every new zsh", "bridge completion zsh >~/.zfunc/_bridge"),
    ("Enable it in every new fish", "bridge completion fish >~/.config/fish/completions/bridge.fish"),
)
# `HTTPRoute/` is an incomplete word, so no blank must follow it. fish recognizes that by the slash.
_WITHOUT_BLANK = {
    "bash": (("COMPREPLY+=($value)", 'COMPREPLY+=("$value"); [[ $value == */ ]] && compopt -o nospace'),),
    "zsh": (
        (
            "compadd -U -V unsorted -a completions",
            """local -a kinds=(${(M)completions:#*/}) whole=(${completions:#*/})
        (( $#kinds )) && compadd -U -S '' -V unsorted -a kinds
        (( $#whole )) && compadd -U -V unsorted -a whole""",
        ),
    ),
}


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Print a shell completion script")
@click.argument("shell", type=click.Choice(SHELLS))
@debug_option
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and their values in a shell.

    `kubectl bridge …` needs none: kubectl's own completion calls `kubectl_complete-bridge`, which is installed next to
    `kubectl-bridge`.
    """
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - the choices are those that there are
    script = found(ctx.find_root().command, {}, "bridge", VARIABLE).source()
    for line, better in _WITHOUT_BLANK.get(shell, ()):
        script = script.replace(line, better)
    click.echo(script)


def complete_for_kubectl() -> None:
    """Answer `kubectl_complete-bridge WORD… INCOMPLETE`: print a line for each completion, then a directive."""
    from bridge.cli.main import bridge

    *words, incomplete = sys.argv[1:] or [""]
    files = half = False
    for item in ShellComplete(bridge, {}, "bridge", VARIABLE).get_completions(words, incomplete):
        files = files or item.type != "plain"
        half = half or item.value.endswith("/")
        if item.type == "plain":
            print(f"{item.value}\t{item.help}" if item.help else item.value)
    print(f":{0 if files else 4 + 2 * half}")  # 4: no file names; 2: no blank after an incomplete word
