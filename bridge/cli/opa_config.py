"""`bridge opa-config`: the configuration for an OPA that is to take its modules from a bridge."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import click

from bridge.answers.errors import CommandError
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import output_option

_EXAMPLES = (
    ("An OPA beside the bridge", "bridge opa-config >opa.yaml && opa run --server --config-file=opa.yaml"),
    ("Then the bridge that fills it", "bridge run --opa http://127.0.0.1:8181"),
    (
        "Both in containers that share a folder",
        "bridge opa-config --bundle-credentials /run/policy-bridge/bundle",
    ),
    ("A bridge on another host", "bridge opa-config --bridge-url http://policy-bridge:8282"),
    ("An OPA that answers to tokens alone: its configuration,", "bridge opa-config --authorization >opa.yaml"),
    ("its policy of who may ask for what,", "bridge opa-config --show policy >authz.rego"),
    ("and how to start it", "bridge opa-config --show command"),
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
@click.option(
    "--bundle-credentials",
    metavar="FOLDER",
    envvar="BRIDGE_BUNDLE_CREDENTIALS",
    type=click.Path(path_type=Path),
    help="The token and the keys by which OPA fetches and verifies bundles, as `bridge run` has them; made if the "
    "folder does not exist. Default: a folder of this user's.",
)
@click.option("--decision-ids", is_flag=True, help="OPA gives each answer an id, for the audit of admission.")
@click.option(
    "--authorization", is_flag=True, help="OPA gets the tokens that it accepts from the bridge, and limits requests."
)
@click.option(
    "--show",
    type=click.Choice(["config", "policy", "command"]),
    default="config",
    show_default=True,
    help="The configuration; the Rego by which OPA accepts tokens; or the command that starts an OPA with both.",
)
@output_option("yaml", "json")
@debug_option
def opa_config(
    bridge_url: str,
    bundle_credentials: Path | None,
    decision_ids: bool,
    authorization: bool,
    show: str,
    output: str,
) -> None:
    """Print the configuration that makes an OPA take its modules from this bridge, and no one else's."""
    if show != "config":
        print(_policy() if show == "policy" else _command())
        return
    from bridge.cli.printers.documents import print_document
    from bridge.opa.config import opa_config as config_for
    from bridge.opa.credentials import default_folder, kept_credentials

    parts = urlsplit(bridge_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CommandError(f"--bridge-url {bridge_url}: write http://HOST:PORT")
    trust = kept_credentials(bundle_credentials or default_folder()).trust
    print_document(output, config_for(bridge_url, trust, decision_ids=decision_ids, authorization=authorization))


def _policy() -> str:
    from bridge.resources import authorization_policy

    return authorization_policy().rstrip()


def _command() -> str:
    from bridge.opa.config import opa_arguments

    addresses = ("unix:///run/policy-bridge/opa.sock", "0.0.0.0:8181")
    return " ".join(["opa", *opa_arguments("opa.yaml", "authz.rego", addresses)])
