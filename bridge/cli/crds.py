"""`bridge crds`: the bridge's own CRDs, for `kubectl apply`."""

from __future__ import annotations

import click

from bridge.cli.help_text import ExampleCommand, debug_option

_EXAMPLES = (("Make a cluster know them", "bridge crds | kubectl apply -f -"),)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="The bridge's own CRDs, to apply")
@debug_option
def crds() -> None:
    """Print the CustomResourceDefinitions of PolicyKind, RegoPolicy and Constraint, as this version needs them."""
    from bridge.resources import crds_root

    texts = [file.read_text(encoding="utf-8").strip() for file in sorted(crds_root().glob("*.yaml"))]
    click.echo("\n---\n".join(texts))
