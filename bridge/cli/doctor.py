"""`pbctl doctor`: check tools, OPA and cluster, with commands that fix problems."""

import asyncio
import contextlib
import dataclasses
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bridge import __version__
from bridge.cli.command import command
from bridge.cli.options import output_option
from bridge.cli.output import Answer, print_answer
from bridge.cli.source import (
    CONTEXT,
    OPA_VARIABLE,
    Input,
    kubeconfig_option,
    kubectl_has_a_cluster,
    opa_options,
    read_input,
)
from bridge.cli.table import Table
from bridge.model.text import TIE
from bridge.model.types import ALWAYS, CLUSTER_SCOPED, Access, plural_by_rule
from bridge.queries.names import first_of


@command(
    "Check tools, OPA and cluster",
    *opa_options("Also check this OPA", "Bearer token for that OPA."),
    kubeconfig_option("Check this cluster. Default: kubectl's cluster, if any."),
    CONTEXT,
    output_option("table", "json", "yaml"),
)
def doctor(
    opa_url: str | None, opa_token_file: str | None, kubeconfig: str | None, kube_context: str | None, output: str
) -> int:
    """Check the required tools, OPA and the cluster, and print the commands that fix problems.

    Exits with 1 if a required item is missing.

    Examples:
        # Check what is installed
        pbctl doctor
        # Also check an OPA
        pbctl doctor --opa http://127.0.0.1:8181
        # Also check access to a cluster
        pbctl doctor --kubeconfig ~/.kube/config
    """
    opa_url = opa_url or os.environ.get(OPA_VARIABLE)
    source = read_input(opa_url, opa_token_file) if opa_url else Input()
    checks = check_everything(source, Path(kubeconfig) if kubeconfig else None, kube_context)
    print_answer(output, Answer(lambda: check_tables(checks), "", [dataclasses.asdict(check) for check in checks]))
    return 1 if any(check.state == "missing" for check in checks) else 0


_ENOUGH = 1 << 30  # bytes free: for `opa`, and for a build of it by Go
_TIMEOUT = 5.0  # seconds for a response of OPA
_CLUSTER_TIMEOUT = 15.0  # seconds for all requests to an API server: two dozen, also over a slow line
_NAMED = 5  # policy kinds that a check lists
_OLDEST_PYTHON = (3, 11)
_GRANT = (
    "ask an administrator for the role that `pbctl admin rbac --cluster --reader` prints (with -n NAMESPACE: for one "
    "namespace); a bridge needs that of `pbctl admin rbac --cluster`"
)

State = Literal["ok", "missing", "unchecked"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its result.

    `state`: ok; missing: a required item is missing; unchecked: no address was given. `found`
    describes the item, `needed_for` its users, `fix` the command that helps.
    """

    name: str
    state: State
    found: str = ""
    needed_for: str = ""
    fix: str = ""


def check_everything(source: Input, kubeconfig: Path | None, kube_context: str | None) -> list[Check]:
    """Return all checks, in the order in which users should fix them.

    Fetches and builds nothing; takes seconds at most.
    """
    return [
        _python(),
        Check("pbctl", "ok", __version__),
        _opa_executable(),
        _disk(),
        asyncio.run(_opa(source)),
        asyncio.run(_api_server(kubeconfig, kube_context)),
    ]


def _python() -> Check:
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info >= _OLDEST_PYTHON:
        return Check("python", "ok", found, "the bridge")
    return Check("python", "missing", found, "the bridge", "install Python 3.11 or newer")


def _opa_executable() -> Check:
    from bridge.opa.executable import OPA, search

    why = "everything: it decides"
    result = search(OPA)
    if found := result.found:
        return Check("opa", "ok", f"{found.version} ({found.path}; {found.source})", why)
    reasons = "; ".join(result.passed_over) or f"not found (wanted >={OPA.minimum})"
    return Check("opa", "missing", reasons, why, f"{sys.executable} -m bridge.opa.executable install")


def _disk() -> Check:
    import shutil

    from bridge.opa.executable import cache_root

    folder = cache_root()
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    found = f"{free / (1 << 30):.1f} GiB free for {folder}"
    if free >= _ENOUGH:
        return Check("disk", "ok", found, "the cache of tools")
    return Check("disk", "missing", found, "the cache of tools", f"free {_ENOUGH >> 30} GiB there")


async def _opa(source: Input) -> Check:
    """Check that OPA responds, has the bridge's modules, and has the bridge's documents."""
    why = "read commands with --opa"
    url = source.opa_url
    if not url:
        return Check("opa server", "unchecked", "no --opa URL given", why)
    from bridge.opa.address import TlsFiles
    from bridge.opa.client import QUERIES, Opa
    from bridge.opa.errors import OpaError, OpaRejected

    try:
        async with Opa(url, token=source.token, timeout=_TIMEOUT, tls=TlsFiles(*source.tls)) as opa:
            kinds = await opa.query("types", {})
            undescribed = sorted(await opa.query("undescribed", {}))
            missing_view = ""
            with contextlib.suppress(OpaRejected):  # a reader's token is for queries alone
                missing_view = await opa.missing_view()
            revision = (await opa.answer(f"{QUERIES}/types", {})).revision
    except OpaError as error:
        fix = "start it with the configuration that `pbctl admin opa-config` prints, and `pbctl run --opa` beside it"
        return Check("opa server", "missing", str(error), why, fix)
    policies = sum(about["policy"] for about in kinds.values())
    found = f"{url}: modules {revision or 'of no bundle'}, {policies} active policy kinds"
    if missing_view:
        return Check("opa server", "missing", f"{found}; data.kubernetes is missing", why, missing_view)
    if undescribed:
        found += f"; not described: {first_of(undescribed, _NAMED)}"
        fix = "correct the kind in the manifest, or generate a PolicyKind with `pbctl init policykind`"
        return Check("opa server", "missing", found, why, fix)
    return Check("opa server", "ok", found, why)


async def _api_server(kubeconfig: Path | None, kube_context: str | None) -> Check:
    """Check that a cluster responds, serves Gateway API, and grants read access."""
    why = "`pbctl run` on a cluster"
    if kubeconfig is None and kube_context is None and not kubectl_has_a_cluster():
        return Check("api server", "unchecked", "no kubeconfig", why)
    from bridge.kube.discovery import find_missing_access
    from bridge.kube.kube_client import KubeClient
    from bridge.kube.kube_errors import KubeError
    from bridge.offline.engine import meet
    from bridge.sidecar.permissions import always_read

    try:
        async with (
            asyncio.timeout(_CLUSTER_TIMEOUT),
            await KubeClient.connect(str(kubeconfig) if kubeconfig else None, kube_context) as client,
        ):
            missing = await meet(client)
            version = (await client.get("/version"))["gitVersion"]
            if missing:
                fix = "kubectl apply the CRDs of Gateway API (https://gateway-api.sigs.k8s.io)"
                return Check("api server", "missing", f"{client.server}: {version}, without Gateway API", why, fix)
            if refused := await find_missing_access(client, always_read("list")):
                there = [dataclasses.replace(one, namespace=client.namespace) for one in refused]
                lacking = {one.what for one in await find_missing_access(client, there)}
                whole = {plural_by_rule(one) for one in ALWAYS if one in CLUSTER_SCOPED}
                partly = [one for one in refused if one.what not in lacking and one.resource not in whole]
                found = f"{client.server}: {version}; no permission to list {_resources(refused)}"
                found += f"; in namespace {client.namespace} you may list {_resources(partly)}" if partly else ""
                return Check("api server", "missing", found, why, _GRANT)
            return Check("api server", "ok", f"{client.server}: {version}, with Gateway API", why)
    except TimeoutError:
        return Check(
            "api server", "missing", f"no answer in {_CLUSTER_TIMEOUT:g} s", why, "check the server in the kubeconfig"
        )
    except KubeError as error:
        return Check("api server", "missing", str(error), why, "check --kubeconfig and --context")


def _resources(access: Sequence[Access]) -> str:
    """Return resources, those of each group together: `services; gateways, httproutes (gateway.networking.k8s.io)`."""
    groups: dict[str, list[str]] = {}
    for one in access:
        groups.setdefault(one.group, []).append(one.resource)
    return "; ".join(", ".join(names) + (f" ({group})" if group else "") for group, names in groups.items())


def check_tables(checks: Sequence[Check]) -> list[Table]:
    """Return the checks, and below them the commands that fix missing items."""
    return [
        Table(
            ["WHAT", "STATE", "FOUND", "FOR"],
            [[check.name.replace(" ", TIE), check.state, check.found, check.needed_for] for check in checks],
            spare=("FOR",),
        ),
        Table(["MISSING", "FIX"], [[check.name, check.fix] for check in checks if check.fix]),
    ]
