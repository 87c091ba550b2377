"""The one way to start a control plane for a measurement or a soak, with the CRDs that a bridge expects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from hack.tools import ensure, ensure_crds
from tests.controlplane.plane import ControlPlane

BRIDGE_CRDS = Path(__file__).resolve().parents[1] / "deploy" / "crds"


@asynccontextmanager
async def running_cluster(folder: Path) -> AsyncIterator[ControlPlane]:
    """Start etcd and kube-apiserver with their data in `folder`, and with Gateway API's CRDs and the bridge's own."""
    etcd, server, _ = await asyncio.gather(
        *(asyncio.to_thread(ensure, name) for name in ("etcd", "kube-apiserver", "opa"))
    )
    crds = await asyncio.to_thread(ensure_crds)
    plane = ControlPlane(folder, etcd=etcd.path, kube_apiserver=server.path)
    try:
        await asyncio.to_thread(plane.start)
        await asyncio.to_thread(plane.api.apply_crds, crds / "experimental")
        await asyncio.to_thread(_apply_own, plane)
        yield plane
    finally:
        await asyncio.to_thread(plane.stop)


def _apply_own(plane: ControlPlane) -> None:
    names = set()
    for file in sorted(BRIDGE_CRDS.glob("*.yaml")):
        name = yaml.safe_load(file.read_text())["metadata"]["name"]
        plane.api.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", file.read_text())
        names.add(name)
    plane.api.wait_for_crds(names)
