"""`bridge opa-config`: print the configuration of an OPA that gets its modules from a bridge."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import output_option
from bridge.queries.names import CommandError

_EXAMPLES = (
    ("Start an OPA next to the bridge", "bridge opa-config >opa.yaml && opa run --server --config-file=opa.yaml"),
    ("Then start the bridge that writes to it", "bridge run --opa http://127.0.0.1:8181"),
    (
        "For containers that share a folder",
        "bridge opa-config --bundle-credentials /run/policy-bridge/bundle",
    ),
    ("For a bridge on another host", "bridge opa-config --bridge-url http://policy-bridge:8282"),
    ("For an OPA that requires tokens: its configuration,", "bridge opa-config --authorization >opa.yaml"),
    ("its authorization policy,", "bridge opa-config --show policy >authz.rego"),
    ("and the command that starts it", "bridge opa-config --show command"),
)


@click.command(
    "opa-config",
    cls=ExampleCommand,
    examples=_EXAMPLES,
    short_help="Print the configuration of an OPA for the bridge",
)
@click.option(
    "--bridge-url",
    metavar="URL",
    default="http://127.0.0.1:8282",
    show_default=True,
    help="The address of the bridge for OPA, as in `bridge run --listen`.",
)
@click.option(
    "--bundle-credentials",
    metavar="FOLDER",
    envvar="BRIDGE_BUNDLE_CREDENTIALS",
    type=click.Path(path_type=Path),
    help="The token and the keys with which OPA fetches and verifies bundles, as for `bridge run`; created if the "
    "folder does not exist. Default: a folder of this user.",
)
@click.option("--decision-ids", is_flag=True, help="OPA returns an id with each decision, for the audit of admission.")
@click.option(
    "--authorization", is_flag=True, help="OPA gets its accepted tokens from the bridge, and limits requests."
)
@click.option(
    "--show",
    type=click.Choice(["config", "policy", "command"]),
    default="config",
    show_default=True,
    help="Print the configuration, the authorization policy, or the command that starts an OPA with both.",
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
    """Print the configuration with which OPA gets its modules from this bridge only."""
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
