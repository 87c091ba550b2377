"""The source of PolicyKinds and CRDs for commands about an installation: manifests, a cluster, or only the presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.cli.command import option
from bridge.cli.source import CONTEXT, kubeconfig_option

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from bridge.offline.engine import Engine

_CRDS = "/objects/apiextensions.k8s.io/CustomResourceDefinition/-"

KIND_SOURCE = (
    option(
        "--manifests",
        metavar="PATH",
        multiple=True,
        help="Source of PolicyKinds and CRDs: a file, a folder with all its files, or -. Repeatable.",
    ),
    option("--cluster", is_flag=True, help="Read PolicyKinds and CRDs from kubectl's cluster."),
    kubeconfig_option("Read them from this cluster."),
    CONTEXT,
)


@dataclass(frozen=True, slots=True)
class KindSource:
    """The source of policy kinds: `manifests`, a cluster, or, without both, only the shipped presets.

    `cluster` means kubectl's cluster; `kubeconfig` or `kube_context` name another one.
    """

    manifests: tuple[str, ...] = ()
    kubeconfig: str | None = None
    kube_context: str | None = None
    cluster: bool = False

    def is_cluster(self, *, check: bool = False) -> bool:
        """Return whether it is a cluster. With `check`, it is one unless there are manifests."""
        return not self.manifests and (check or self.cluster or bool(self.kubeconfig or self.kube_context))

    def open(self, *, in_cluster: bool) -> AbstractAsyncContextManager[Engine]:
        """Open an engine with the manifests, the cluster, or nothing but the presets. Raises the errors of that."""
        from bridge.offline.engine import open_engine
        from bridge.telemetry.logs import configure_logs

        configure_logs("error", "console")
        return open_engine(
            manifests=self.manifests,
            kubeconfig=self.kubeconfig,
            kube_context=self.kube_context,
            empty=not (self.manifests or in_cluster),
        )


async def crd_specs(engine: Engine) -> list[Mapping[str, Any]]:
    """Return the specs of the source's CRDs."""
    return [crd["spec"] for crd in (await engine.opa.get(_CRDS) or {}).values()]
