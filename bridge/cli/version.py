"""`pbctl version`: what is in use."""

import platform
import sys

import click

from bridge import __version__
from bridge.cli.command import NAME, command


@command("Show the versions in use")
def version() -> None:
    """Show the versions of the bridge, its Rego, Python and OPA.

    Examples:
        # For a bug report
        pbctl version
    """
    from bridge.files import rego_root
    from bridge.opa.shipped import shipped_bundle

    click.echo(f"{NAME} {__version__}")
    click.echo(f"rego {shipped_bundle(rego_root()).revision} ({rego_root()})")
    click.echo(f"python {platform.python_version()} ({sys.executable})")
    click.echo(f"opa {_opa_version()}")


def _opa_version() -> str:
    from bridge.opa.executable import OPA, search

    result = search(OPA)
    if result.found:
        return f"{result.found.version} ({result.found.path}; {result.found.source})"
    why = "; ".join(result.passed_over) or "not on PATH, not named by BRIDGE_OPA, not in the cache"
    return f"not found: {why}; commands install it when they need it, see `pbctl doctor`"
