"""`bridge token` and `bridge credentials`: random secrets for the bridge."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.plain import tell

_TOKEN_EXAMPLES = (
    ("A token for the web page", "bridge token >token && bridge run --listen 0.0.0.0:8282 --web-token-file token"),
    ("Store a token as a Secret", 'kubectl create secret generic web-token --from-literal=token="$(bridge token)"'),
)
_CREDENTIALS_EXAMPLES = (
    ("Secrets for a bridge and an OPA that share a folder", "bridge credentials /run/policy-bridge/bundle"),
)


@click.command("token", cls=ExampleCommand, examples=_TOKEN_EXAMPLES, short_help="Print a random token")
@debug_option
def token() -> None:
    """Print a random token of 43 characters (256 bits), for the page, for OPA's readers, or for the bridge."""
    print(secrets.token_urlsafe(32))


@click.command(
    "credentials",
    cls=ExampleCommand,
    examples=_CREDENTIALS_EXAMPLES,
    short_help="Create the secrets between an OPA and the bridge",
)
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@debug_option
def credentials(folder: Path) -> None:
    """Create the secrets with which an OPA fetches and verifies the bridge's bundles, if FOLDER does not exist yet.

    FOLDER then has the files token, signing-key.pem and verification-key.pem. `bridge run` and `bridge opa-config`
    create them too; use this command in a container that runs before both.
    """
    from bridge.opa.credentials import kept_credentials

    kept_credentials(folder)
    tell(f"credentials in {folder}")
