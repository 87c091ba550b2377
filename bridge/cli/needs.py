"""What `bridge rbac` finds out: the policy kinds there are, the rights that follow, and which of these are lacking."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.cli.reading import take_standard_input

if TYPE_CHECKING:
    from bridge.kube.discovery import Discovery
    from bridge.model.access import Access
    from bridge.model.types import ResourceType
    from bridge.runtime.access import Facts
    from bridge.runtime.engine import Engine
    from bridge.runtime.settings import Settings

_CRDS = "/objects/apiextensions.k8s.io/CustomResourceDefinition/-"


@dataclass(frozen=True, slots=True)
class Asked:
    """Where policy kinds are: in `manifests`, in a cluster, or, without both, in the shipped presets alone.

    `cluster` means kubectl's; `kubeconfig` or `kube_context` name another one.
    """

    manifests: tuple[str, ...] = ()
    kubeconfig: str | None = None
    kube_context: str | None = None
    cluster: bool = False


def read_needs(config: Path | None, asked: Asked, *, check: bool = False) -> tuple[list[Access], bool]:
    """What a bridge with these settings needs, and whether it may need more: not every policy kind could be read.

    To `check` it, a cluster is there anyway.

    Raises SettingsError, and what opening an engine raises.
    """
    from bridge.runtime.logs import configure_logs
    from bridge.runtime.settings_loading import load_settings

    settings = load_settings(config)
    configure_logs("error", "console")
    take_standard_input(asked.manifests)
    in_cluster = check or asked.cluster or bool(asked.kubeconfig or asked.kube_context)
    return asyncio.run(_read(settings, asked, in_cluster=in_cluster and not asked.manifests))


def find_lacking(asked: Asked, needs: list[Access], user: str) -> list[Access]:
    """Of what is needed that which the cluster does not allow `user`, empty for ourselves. Raises KubeError."""

    async def ask() -> list[Access]:
        from bridge.kube.client import KubeClient
        from bridge.kube.rights import lacking

        async with await KubeClient.connect(asked.kubeconfig, asked.kube_context) as client:
            return await lacking(client, needs, user)

    return asyncio.run(ask())


async def _read(settings: Settings, asked: Asked, *, in_cluster: bool) -> tuple[list[Access], bool]:
    from bridge.cli.reading import tell_problems
    from bridge.runtime.access import needed_access
    from bridge.runtime.engine import open_engine

    async with open_engine(
        manifests=asked.manifests,
        kubeconfig=asked.kubeconfig,
        kube_context=asked.kube_context,
        empty=not in_cluster,
    ) as engine:
        if in_cluster:  # what is wrong with somebody's policy there is no matter of rights, a type that is unread is
            engine.problems = [one for one in engine.problems if one.subject.count("/") == 1]
        in_part = await tell_problems(engine)
        facts = await _facts(engine, settings, asked if in_cluster else None)
    return needed_access(settings, facts), in_part


async def _facts(engine: Engine, settings: Settings, cluster: Asked | None) -> Facts:
    from bridge.answers.asking import undescribed
    from bridge.runtime.access import Facts, explained_kinds, replicated_types
    from bridge.runtime.world import plural_by_rule

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
    """What a CRD makes the API server serve; the version is no part of a right."""
    from bridge.model.types import ResourceType

    spec = crd["spec"]
    return ResourceType(
        spec["group"], "", spec["names"]["kind"], spec["names"]["plural"], spec.get("scope") == "Namespaced"
    )


async def _discover(asked: Asked) -> Discovery:
    from bridge.kube.client import KubeClient
    from bridge.kube.discovery import Discovery

    async with await KubeClient.connect(asked.kubeconfig, asked.kube_context) as client:
        found = Discovery(client)
        await found.refresh()
        return found
