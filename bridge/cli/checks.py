"""The checks of `bridge doctor`."""

from __future__ import annotations

import asyncio
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bridge import __version__
from bridge.cli.options import Input, kubectl_has_a_cluster
from bridge.queries.names import first_of

_ENOUGH = 1 << 30  # bytes free: a build of `opa` by Go needs about as much
_PATIENCE = 5.0  # seconds for a response of OPA or an API server
_NAMED = 5  # policy kinds that a check lists
_OLDEST_PYTHON = (3, 11)

State = Literal["ok", "missing", "unchecked"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its result.

    `state`: ok; missing: a required item is missing; unchecked: no address was given. `found`
    describes the item, `needed_for` its users, `mend` the command that helps.
    """

    name: str
    state: State
    found: str = ""
    needed_for: str = ""
    mend: str = ""


def check_everything(source: Input, kubeconfig: Path | None, kube_context: str | None) -> list[Check]:
    """Return all checks, in the order in which users should fix them.

    Fetches and builds nothing; takes seconds at most.
    """
    return [
        _python(),
        Check("bridge", "ok", __version__),
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
    from bridge.opa.executable import OPA, inspect_tool

    tool = inspect_tool(OPA, f"{sys.executable} -m bridge.opa.executable install")
    if tool.version:
        return Check(tool.name, "ok", f"{tool.version} ({tool.path}; {tool.source})", tool.needed_for)
    found = "; ".join(tool.passed_over) or f"not found (wanted {tool.wanted})"
    return Check(tool.name, "missing", found, tool.needed_for, tool.mend or "")


def _disk() -> Check:
    from bridge.opa.executable.cache import cache_root

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
    from bridge.opa.errors import OpaError

    try:
        async with Opa(url, token=source.token, timeout=_PATIENCE, tls=TlsFiles(*source.tls)) as opa:
            kinds = await opa.query("types", {})
            undescribed = sorted(await opa.query("undescribed", {}))
            revision = (await opa.answer(f"{QUERIES}/types", {})).revision
    except OpaError as error:
        mend = "start it with the configuration that `bridge opa-config` prints, and `bridge run --opa` beside it"
        return Check("opa server", "missing", str(error), why, mend)
    policies = sum(about["policy"] for about in kinds.values())
    found = f"{url}: modules {revision or 'of no bundle'}, {policies} active policy kinds"
    if undescribed:
        found += f"; not described: {first_of(undescribed, _NAMED)}"
        mend = "correct the kind in the manifest, or write a PolicyKind: `bridge init policykind` prints one"
        return Check("opa server", "missing", found, why, mend)
    return Check("opa server", "ok", found, why)


async def _api_server(kubeconfig: Path | None, kube_context: str | None) -> Check:
    """Check that a cluster responds, serves Gateway API, and grants read access."""
    why = "`bridge run` on a cluster"
    if kubeconfig is None and kube_context is None and not kubectl_has_a_cluster():
        return Check("api server", "unchecked", "no kubeconfig", why)
    from bridge.app.rbac import always_read
    from bridge.kube.client import KubeClient
    from bridge.kube.errors import KubeError, NotFound, Unauthorized
    from bridge.kube.rights import lacking

    try:
        async with (
            asyncio.timeout(_PATIENCE),
            await KubeClient.connect(str(kubeconfig) if kubeconfig else None, kube_context) as client,
        ):
            version = (await client.get("/version"))["gitVersion"]
            try:
                await client.get("/apis/gateway.networking.k8s.io")
            except NotFound:
                mend = "kubectl apply the CRDs of Gateway API (https://gateway-api.sigs.k8s.io)"
                return Check("api server", "missing", f"{client.server}: {version}, without Gateway API", why, mend)
            if refused := [one.what for one in await lacking(client, always_read("list"))]:
                found = f"{client.server}: {version}; no permission to list {', '.join(refused)}"
                mend = "grant list and watch on them in all namespaces: `bridge rbac` prints the roles"
                return Check("api server", "missing", found, why, mend)
            return Check("api server", "ok", f"{client.server}: {version}, with Gateway API", why)
    except TimeoutError:
        return Check(
            "api server", "missing", f"no answer in {_PATIENCE:g} s", why, "check the server in the kubeconfig"
        )
    except Unauthorized as error:
        return Check("api server", "missing", str(error), why, "renew the credentials in the kubeconfig")
    except KubeError as error:
        return Check("api server", "missing", str(error), why, "check --kubeconfig and --context")
