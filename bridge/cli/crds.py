"""`bridge crds`: print the bridge's own CRDs for `kubectl apply`."""

from __future__ import annotations

import click

from bridge.cli.help_text import ExampleCommand, debug_option

_EXAMPLES = (("Install the CRDs in a cluster", "bridge crds | kubectl apply -f -"),)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Print the bridge's own CRDs")
@debug_option
def crds() -> None:
    """Print the CustomResourceDefinitions of PolicyKind, RegoPolicy and Constraint for this version."""
    from bridge.resources import crds_root

    texts = [file.read_text(encoding="utf-8").strip() for file in sorted(crds_root().glob("*.yaml"))]
    click.echo("\n---\n".join(texts))
