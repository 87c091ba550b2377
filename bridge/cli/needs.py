"""The inputs of `bridge rbac`: existing policy kinds, the permissions that follow, and the missing ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.cli.reading import take_standard_input

if TYPE_CHECKING:
    from bridge.app.engine import Engine
    from bridge.app.rbac import Facts
    from bridge.kube.discovery import Discovery
    from bridge.model.access import Access
    from bridge.model.types import ResourceType
    from bridge.settings.model import Settings

_CRDS = "/objects/apiextensions.k8s.io/CustomResourceDefinition/-"


@dataclass(frozen=True, slots=True)
class AskedRights:
    """The source of policy kinds: `manifests`, a cluster, or, without both, only the shipped presets.

    `cluster` means kubectl's cluster; `kubeconfig` or `kube_context` name another one.
    """

    manifests: tuple[str, ...] = ()
    kubeconfig: str | None = None
    kube_context: str | None = None
    cluster: bool = False


def read_needs(config: Path | None, asked: AskedRights, *, check: bool = False) -> tuple[list[Access], bool]:
    """Return the permissions that a bridge with these settings needs, and whether some policy kinds were unreadable.

    With `check` the cluster is read in any case.

    Raises SettingsError, and the errors of opening an engine.
    """
    from bridge.settings.loading import load_settings
    from bridge.telemetry.logs import configure_logs

    settings = load_settings(config)
    configure_logs("error", "console")
    take_standard_input(asked.manifests)
    in_cluster = check or asked.cluster or bool(asked.kubeconfig or asked.kube_context)
    return asyncio.run(_read(settings, asked, in_cluster=in_cluster and not asked.manifests))


def find_lacking(asked: AskedRights, needs: list[Access], user: str) -> list[Access]:
    """Return the needed permissions that the cluster does not grant `user`, or this user if it is empty.

    Raises KubeError.
    """

    async def ask() -> list[Access]:
        from bridge.kube.client import KubeClient
        from bridge.kube.rights import lacking

        async with await KubeClient.connect(asked.kubeconfig, asked.kube_context) as client:
            return await lacking(client, needs, user)

    return asyncio.run(ask())


async def _read(settings: Settings, asked: AskedRights, *, in_cluster: bool) -> tuple[list[Access], bool]:
    from bridge.app.engine import open_engine
    from bridge.app.rbac import needed_access
    from bridge.cli.reading import tell_problems

    async with open_engine(
        manifests=asked.manifests,
        kubeconfig=asked.kubeconfig,
        kube_context=asked.kube_context,
        empty=not in_cluster,
    ) as engine:
        if in_cluster:  # invalid policies do not affect permissions, unlike unreadable types
            engine.problems = [one for one in engine.problems if one.subject.count("/") == 1]
        in_part = await tell_problems(engine)
        facts = await _facts(engine, settings, asked if in_cluster else None)
    return needed_access(settings, facts), in_part


async def _facts(engine: Engine, settings: Settings, cluster: AskedRights | None) -> Facts:
    from bridge.app.rbac import Facts, explained_kinds, replicated_types
    from bridge.app.store import plural_by_rule
    from bridge.queries.asking import undescribed

    kinds = explained_kinds(await engine.opa.query("kinds_in_force", {}), served=cluster is not None)
    kinds += [name for name, about in (await undescribed(engine.opa)).items() if "crd" in about]
    replicated = [*replicated_types(settings), *kinds]
    written = await engine.opa.query("writable_types", {"replicated": replicated})
    if cluster is not None:
        served = (await _discover(cluster)).types
    else:
        served = {crd.id: crd for crd in map(_defined, (await engine.opa.get(_CRDS) or {}).values())}

    def plural(type_id: str) -> str:
        return served[type_id].plural if type_id in served else plural_by_rule(type_id)

    def namespaced(type_id: str) -> bool:
        return type_id not in served or served[type_id].namespaced

    return Facts(kinds, written, plural, namespaced)


def _defined(crd: Mapping[str, Any]) -> ResourceType:
    """Return the types that a CRD defines; permissions do not name versions."""
    from bridge.model.types import ResourceType

    spec = crd["spec"]
    return ResourceType(
        spec["group"], "", spec["names"]["kind"], spec["names"]["plural"], spec.get("scope") == "Namespaced"
    )


async def _discover(asked: AskedRights) -> Discovery:
    from bridge.kube.client import KubeClient
    from bridge.kube.discovery import Discovery

    async with await KubeClient.connect(asked.kubeconfig, asked.kube_context) as client:
        found = Discovery(client)
        await found.refresh()
        return found
