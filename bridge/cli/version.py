"""`bridge version`: what is in use."""

from __future__ import annotations

import sys

import click

from bridge import __version__
from bridge.cli.help_text import ExampleCommand, debug_option


def show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Print the versions and end the command, for the option `--version`."""
    if value and not ctx.resilient_parsing:
        _print_versions()
        ctx.exit()


@click.command(
    cls=ExampleCommand, examples=(("For a bug report", "bridge version"),), short_help="Show the versions in use"
)
@debug_option
def version() -> None:
    """Show the versions of the bridge, its Rego, Python and OPA."""
    _print_versions()


def _print_versions() -> None:
    import platform

    from bridge.opa.shipped import shipped_bundle
    from bridge.resources import rego_root

    click.echo(f"bridge {__version__}")
    click.echo(f"rego {shipped_bundle(rego_root()).revision} ({rego_root()})")
    click.echo(f"python {platform.python_version()} ({sys.executable})")
    click.echo(f"opa {_opa_version()}")


def _opa_version() -> str:
    from bridge.opa.executable import OPA, search

    result = search(OPA)
    if result.found:
        return f"{result.found.version} ({result.found.path}; {result.found.source})"
    why = "; ".join(result.passed_over) or "not on PATH, not named by BRIDGE_OPA, not in the cache"
    return f"not found: {why}; commands install it when they need it, see `bridge doctor`"
