"""`bridge doctor`: check tools, OPA and cluster, and print the commands that fix problems."""

from __future__ import annotations

from pathlib import Path

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import OPA_TOKEN_VARIABLE, OPA_VARIABLE, output_option

_EXAMPLES = (
    ("Check what is installed", "bridge doctor"),
    ("Also check an OPA", "bridge doctor --opa http://127.0.0.1:8181"),
    ("Also check access to a cluster", "bridge doctor --kubeconfig ~/.kube/config"),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Check tools, OPA and cluster")
@click.option("--opa", "opa_url", metavar="URL", envvar=OPA_VARIABLE, help=f"Also check this OPA (or {OPA_VARIABLE}).")
@click.option("--opa-token-file", metavar="FILE", envvar=OPA_TOKEN_VARIABLE, help="Bearer token for that OPA.")
@click.option("--kubeconfig", metavar="FILE", help="Check this cluster. Default: kubectl's cluster, if any.")
@click.option("--context", "kube_context", metavar="NAME", help="The context in the kubeconfig.")
@output_option("table", "json", "yaml")
@debug_option
@click.pass_context
def doctor(
    ctx: click.Context,
    opa_url: str | None,
    opa_token_file: str | None,
    kubeconfig: str | None,
    kube_context: str | None,
    output: str,
) -> None:
    """Check the required tools, OPA and the cluster, and print the commands that fix problems.

    Exits with 1 if a required item is missing.
    """
    from bridge.cli.checks import check_everything
    from bridge.cli.options import Input, read_input
    from bridge.cli.printers import print_answer
    from bridge.cli.printers.doctor import check_documents, check_tables

    source = read_input(opa_url, opa_token_file, ()) if opa_url else Input()
    checks = check_everything(source, Path(kubeconfig) if kubeconfig else None, kube_context)
    print_answer(output, checks, check_tables, "", document=check_documents)
    ctx.exit(1 if any(check.state == "missing" for check in checks) else 0)
