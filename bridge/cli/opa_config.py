"""`bridge opa-config`: the configuration for an OPA that is to take its modules from a bridge."""

from __future__ import annotations

from urllib.parse import urlsplit

import click

from bridge.answers.errors import CommandError
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import output_option

_EXAMPLES = (
    ("An OPA beside the bridge", "bridge opa-config >opa.yaml && opa run --server --config-file=opa.yaml"),
    ("Then the bridge that fills it", "bridge run --opa http://127.0.0.1:8181"),
    ("A bridge on another host", "bridge opa-config --bridge-url http://policy-bridge:8282"),
)


@click.command(
    "opa-config",
    cls=ExampleCommand,
    examples=_EXAMPLES,
    short_help="The configuration for an OPA that the bridge fills",
)
@click.option(
    "--bridge-url",
    metavar="URL",
    default="http://127.0.0.1:8282",
    show_default=True,
    help="Where OPA reaches the bridge: the address that `bridge run --listen` has.",
)
@click.option("--decision-ids", is_flag=True, help="OPA gives each answer an id, for the audit of admission.")
@output_option("yaml", "json")
@debug_option
def opa_config(bridge_url: str, decision_ids: bool, output: str) -> None:
    """Print the configuration that makes an OPA take its modules from this bridge."""
    from bridge.cli.printers.documents import print_document
    from bridge.opa.config import opa_config as config_for

    parts = urlsplit(bridge_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CommandError(f"--bridge-url {bridge_url}: write http://HOST:PORT")
    print_document(output, config_for(bridge_url, decision_ids=decision_ids))
