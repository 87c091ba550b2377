"""`pbctl admin rbac`: the permissions that a bridge needs, as roles or as a table, and the missing ones."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.cli.command import command, option
from bridge.cli.kind_source import KIND_SOURCE, KindSource, crd_specs
from bridge.cli.options import file_option, namespace_option, output_option
from bridge.cli.output import print_document, print_error, print_objects
from bridge.cli.reading import INPUT_ERROR, report_problems, take_standard_input
from bridge.cli.table import Table, print_tables
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.kube.discovery import Discovery
    from bridge.model.types import Access, ResourceType
    from bridge.offline.engine import Engine
    from bridge.settings.model import Settings
    from bridge.sidecar.permissions import Facts

_NAMESPACES = "/objects/core/Namespace/-"


def read_needs(
    config: Path | None, kind_source: KindSource, *, check: bool = False, reader: bool = False
) -> tuple[list[Access], bool]:
    """Return the permissions that a bridge with these settings needs, and whether some policy kinds were unreadable.

    With `check` the cluster is read in any case. With `reader` the permissions are those of users of commands, without
    those in namespaces that a cluster does not have.

    Raises SettingsError, and the errors of opening an engine.
    """
    from bridge.settings.loading import load_settings
    from bridge.sidecar.permissions import READ

    settings = load_settings(config)
    take_standard_input(kind_source.manifests)
    needs, absent, in_part = asyncio.run(_read(settings, kind_source, in_cluster=kind_source.is_cluster(check=check)))
    if reader:
        return [one for one in needs if one.verbs == READ and one.namespace not in absent], in_part
    for name in sorted(absent):
        print_error(f"warning: namespace {name} does not exist, so its roles cannot: kubectl create namespace {name}")
    return needs, in_part


def find_lacking(kind_source: KindSource, needs: list[Access], user: str) -> list[Access]:
    """Return the needed permissions that the cluster does not grant `user`, or this user if it is empty.

    Raises KubeError.
    """

    async def ask() -> list[Access]:
        from bridge.kube.discovery import find_missing_access
        from bridge.kube.kube_client import KubeClient

        async with await KubeClient.connect(kind_source.kubeconfig, kind_source.kube_context) as client:
            return await find_missing_access(client, needs, user)

    return asyncio.run(ask())


async def _read(
    settings: Settings, kind_source: KindSource, *, in_cluster: bool
) -> tuple[list[Access], set[str], bool]:
    """Return the permissions, their namespaces that the cluster does not have, and whether kinds were unreadable."""
    from bridge.sidecar.permissions import needed_access

    async with kind_source.open(in_cluster=in_cluster) as engine:
        if in_cluster:  # invalid policies do not affect permissions, unlike unreadable types
            engine.problems = [one for one in engine.problems if one.subject.count("/") == 1]
        in_part = await report_problems(engine)
        needs = needed_access(settings, await _facts(engine, settings, kind_source if in_cluster else None))
        existing = await engine.opa.get(_NAMESPACES) if in_cluster else None
        absent = {one.namespace for one in needs} - {"", *existing} if existing else set()
    return needs, absent, in_part


async def _facts(engine: Engine, settings: Settings, cluster: KindSource | None) -> Facts:
    from bridge.model.types import plural_by_rule
    from bridge.queries.asking import undescribed
    from bridge.sidecar.permissions import Facts, explained_kinds, replicated_types

    kinds = explained_kinds(await engine.opa.query("kinds_in_force", {}), served=cluster is not None)
    kinds += [name for name, about in (await undescribed(engine.opa)).items() if "crd" in about]
    replicated = [*replicated_types(settings), *kinds]
    written = await engine.opa.query("writable_types", {"replicated": replicated})
    if cluster is not None:
        served = (await _discover(cluster)).types
    else:
        served = {crd.id: crd for crd in map(_defined, await crd_specs(engine))}

    def plural(type_id: str) -> str:
        return served[type_id].plural if type_id in served else plural_by_rule(type_id)

    def namespaced(type_id: str) -> bool:
        return type_id not in served or served[type_id].namespaced

    return Facts(kinds, written, plural, namespaced)


def _defined(spec: Mapping[str, Any]) -> ResourceType:
    """Return the types that a CRD with this spec defines; permissions do not name versions."""
    from bridge.model.types import ResourceType

    return ResourceType(
        spec["group"], "", spec["names"]["kind"], spec["names"]["plural"], spec.get("scope") == "Namespaced"
    )


async def _discover(kind_source: KindSource) -> Discovery:
    from bridge.kube.discovery import Discovery
    from bridge.kube.kube_client import KubeClient

    async with await KubeClient.connect(kind_source.kubeconfig, kind_source.kube_context) as client:
        found = Discovery(client)
        await found.refresh()
        return found


_LACKS = 1  # exit code


@command(
    "Print the permissions that a bridge needs, or lacks",
    file_option("--config", "Settings of `pbctl run`. The environment (BRIDGE_TYPES, …) takes precedence."),
    *KIND_SOURCE,
    option(
        "--check",
        is_flag=True,
        help="Print the permissions that the cluster does not grant; exit code 1 if there are any.",
    ),
    option("--as", "user", metavar="USER", default="", help="With --check: the user to check. Default: you."),
    option(
        "--reader",
        is_flag=True,
        help="Only what `pbctl` commands read in a cluster: roles called NAME-reader, for you to bind to users.",
    ),
    option("--pods", is_flag=True, help="With --reader: also what `pbctl verify --pods` needs."),
    namespace_option("-n", "--namespace", about="With --reader: a Role that reads this namespace alone."),
    option(
        "--name", metavar="NAME", default="policy-bridge", show_default=True, help="The name of the roles and bindings."
    ),
    option(
        "--service-account",
        metavar="NAMESPACE/NAME",
        default="policy-bridge/policy-bridge",
        show_default=True,
        help="The ServiceAccount of the bindings.",
    ),
    output_option("yaml", "json", "table", "values"),
)
def rbac(
    config: Path | None,
    user: str,
    name: str,
    service_account: str,
    output: str,
    namespace: str | None,
    *,
    check: bool,
    reader: bool,
    **where: Any,
) -> int:
    """Print the ClusterRole, Roles and bindings that a bridge with these settings needs, and nothing more.

    For policies: get, list and watch on every policy kind, and patch on the statuses of kinds with `mode: Manage` and
    of objects that they affect. Without --manifests or a cluster only the shipped presets are known.

    Examples:
        # Permissions for the settings only
        pbctl admin rbac --config bridge.yaml | kubectl apply -f -
        # With the policy kinds of manifests, as values for the Helm chart
        pbctl admin rbac --manifests kinds/ -o values
        # With the policy kinds of the cluster
        pbctl admin rbac --config bridge.yaml --cluster -o table
        # Permissions that a bridge's ServiceAccount lacks (exit code 1 if any)
        pbctl admin rbac --config bridge.yaml --check --as system:serviceaccount:policy-bridge:policy-bridge
        # A role for users of `pbctl explain`, `pbctl describe`, …
        pbctl admin rbac --cluster --reader | kubectl apply -f -
        # A role for developers of one namespace
        pbctl admin rbac --cluster --reader -n shop | kubectl apply -f -
        # A role for users of `pbctl verify --pods`
        pbctl admin rbac --cluster --reader --pods | kubectl apply -f -
    """
    from bridge.sidecar.permissions import FORWARDED, in_namespace, role_objects

    if where["manifests"] and (where["kubeconfig"] or where["kube_context"] or where["cluster"]):
        raise CommandError("--manifests and a cluster cannot be used together: use the one with the policy kinds")
    pods = where.pop("pods")
    kind_source = KindSource(**where)
    if user and not check:
        raise CommandError("--as needs --check")
    for name_of, given in (("-n", namespace), ("--pods", pods)):
        if given and not reader:
            raise CommandError(f"{name_of} needs --reader")
    home, slash, account = service_account.partition("/")
    if not home or not slash or not account:
        raise CommandError(f"--service-account {service_account}: write NAMESPACE/NAME")
    needs, in_part = read_needs(config, kind_source, check=check, reader=reader)
    needs += FORWARDED if pods else ()
    if namespace:
        needs = in_namespace(needs, namespace)
    code = 0
    if check:
        code = _check(kind_source, needs, user, output)
    elif reader:
        objects = role_objects(needs, f"{name}-reader", (home, account))
        roles = [one for one in objects if "rules" in one]
        if output == "yaml":
            print("\n".join(map(_binding, roles)))
        _print(output, needs, roles)
    else:
        _print(output, needs, role_objects(needs, name, (home, account)))
    return INPUT_ERROR if in_part else code


def _binding(role: Mapping[str, Any]) -> str:
    """Return the command that binds a role to a user, as a comment; a Role needs its namespace."""
    kind, name = role["kind"].lower(), role["metadata"]["name"]
    place = f" -n {role['metadata']['namespace']}" if kind == "role" else ""
    return f"# kubectl create {kind}binding {name}{place} --{kind}={name} --user=USER"


def _check(kind_source: KindSource, needs: list[Access], user: str, output: str) -> int:
    from bridge.sidecar.permissions import role_objects

    found = find_lacking(kind_source, needs, user)
    if not found:
        has = f"{user} has" if user else "You have"
        print(f"{has} all the permissions that the bridge needs.", file=sys.stderr)
        return 0
    _print("table" if output == "yaml" else output, found, role_objects(found, "lacking", ("", "")))
    return _LACKS


def _print(output: str, access: list[Access], objects: list[dict[str, object]]) -> None:
    from bridge.sidecar.permissions import rules

    if output == "table":
        print_tables([access_table(access)])
    elif output == "values":
        by_place = rules(access)
        print_document("yaml", {"rbac": {"clusterRules": by_place.pop("", []), "rules": by_place}})
    else:
        print_objects(output, objects)


def access_table(access: Iterable[Access]) -> Table:
    """Return a row for each resource and its purpose; several resource names are listed separately."""
    table = Table(["NAMESPACE", "RESOURCE", "VERBS", "NAMES", "FOR"], spare=("FOR", "NAMES"))
    for one in access:
        lists = ",".join(one.verbs), ",".join(one.names) or "*"
        table.rows.append([one.namespace or "*", one.what, *lists, one.why])
    return table
