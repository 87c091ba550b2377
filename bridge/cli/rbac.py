"""`bridge rbac`: the permissions that a bridge needs, as RBAC objects, and missing ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import output_option
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.cli.needs import AskedRights
    from bridge.model.access import Access

_EXAMPLES = (
    ("Permissions for the settings only", "bridge rbac --config bridge.yaml | kubectl apply -f -"),
    ("With the policy kinds of manifests, as values for the Helm chart", "bridge rbac --manifests kinds/ -o values"),
    ("With the policy kinds of the cluster", "bridge rbac --config bridge.yaml --cluster -o table"),
    (
        "Permissions that a bridge's ServiceAccount lacks (exit code 1 if any)",
        "bridge rbac --config bridge.yaml --check --as system:serviceaccount:policy-bridge:policy-bridge",
    ),
)
_LACKS = 1  # exit code
_FORMATS = ("yaml", "json", "table", "values")


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Print the permissions that a bridge needs, or lacks")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Settings of `bridge run`. The environment (BRIDGE_TYPES, …) takes precedence.",
)
@click.option(
    "--manifests",
    metavar="PATH",
    multiple=True,
    help="Source of PolicyKinds and CRDs: a file, a folder with all its files, or -. Repeatable.",
)
@click.option("--cluster", is_flag=True, help="Read PolicyKinds and CRDs from kubectl's cluster.")
@click.option("--kubeconfig", metavar="FILE", type=click.Path(), help="Read them from this cluster.")
@click.option("--context", "kube_context", metavar="NAME", help="The context in the kubeconfig.")
@click.option(
    "--check", is_flag=True, help="Print the permissions that the cluster does not grant; exit code 1 if there are any."
)
@click.option("--as", "user", metavar="USER", default="", help="With --check: the user to check. Default: you.")
@click.option(
    "--name", metavar="NAME", default="policy-bridge", show_default=True, help="The name of the roles and bindings."
)
@click.option(
    "--service-account",
    metavar="NAMESPACE/NAME",
    default="policy-bridge/policy-bridge",
    show_default=True,
    help="The ServiceAccount of the bindings.",
)
@output_option(*_FORMATS)
@debug_option
@click.pass_context
def rbac(
    ctx: click.Context,
    /,
    config: Path | None,
    user: str,
    name: str,
    service_account: str,
    output: str,
    *,
    check: bool,
    **where: Any,
) -> None:
    """Print the ClusterRole, Roles and bindings that a bridge with these settings needs, and nothing more.

    For policies: get, list and watch on every policy kind, and patch on the statuses of kinds with `mode: Manage` and
    of objects that they affect. Without --manifests or a cluster only the shipped presets are known.
    """
    from bridge.app.rbac import role_objects
    from bridge.cli.needs import AskedRights, read_needs
    from bridge.cli.reading import INPUT_ERROR

    if where["manifests"] and (where["kubeconfig"] or where["kube_context"] or where["cluster"]):
        raise CommandError("--manifests and a cluster exclude each other: give the one with the policy kinds")
    asked = AskedRights(**where)
    if user and not check:
        raise CommandError("--as needs --check")
    namespace, slash, account = service_account.partition("/")
    if not namespace or not slash or not account:
        raise CommandError(f"--service-account {service_account}: write NAMESPACE/NAME")
    needs, in_part = read_needs(config, asked, check=check)
    if check:
        code = _check(asked, needs, user, output)
        ctx.exit(INPUT_ERROR if in_part else code)
    _print(output, needs, role_objects(needs, name, (namespace, account)))
    ctx.exit(INPUT_ERROR if in_part else 0)


def _check(asked: AskedRights, needs: list[Access], user: str, output: str) -> int:
    from bridge.app.rbac import role_objects
    from bridge.cli.needs import find_lacking

    found = find_lacking(asked, needs, user)
    if not found:
        print(f"{user or 'You'} has all permissions that the bridge needs.", file=sys.stderr)
        return 0
    _print("table" if output == "yaml" else output, found, role_objects(found, "lacking", ("", "")))
    return _LACKS


def _print(output: str, access: list[Access], objects: list[dict[str, object]]) -> None:
    from bridge.app.rbac import rules
    from bridge.cli.printers.documents import print_document, print_objects
    from bridge.cli.printers.rbac import access_table
    from bridge.cli.printers.table import print_tables

    if output == "table":
        print_tables([access_table(access)])
    elif output == "values":
        by_place = rules(access)
        print_document("yaml", {"rbac": {"clusterRules": by_place.pop("", []), "rules": by_place}})
    else:
        print_objects(output, objects)
