"""The one way to start a control plane for a measurement or a soak, and the paths of objects in it."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from bridge.model.changes import Object
from hack.tools import ensure
from hack.tools.vendor_crds import ensure_crds
from tests.controlplane.api import ApiServer
from tests.controlplane.plane import ControlPlane
from tests.scenarios.custom_resources import plural_of

BRIDGE_CRDS = Path(__file__).resolve().parents[1] / "deploy" / "crds"


@asynccontextmanager
async def running_cluster(folder: Path) -> AsyncIterator[ControlPlane]:
    """Start etcd and kube-apiserver with their data in `folder`, and with Gateway API's CRDs and the bridge's own."""
    etcd, server = [(await asyncio.to_thread(ensure, name)).path for name in ("etcd", "kube-apiserver")]
    crds = await asyncio.to_thread(ensure_crds)
    plane = ControlPlane(folder, etcd=etcd, kube_apiserver=server)
    try:
        await asyncio.to_thread(plane.start)
        await asyncio.to_thread(plane.api.apply_crds, crds / "experimental")
        await asyncio.to_thread(_apply_own, plane)
        yield plane
    finally:
        await asyncio.to_thread(plane.stop)


def collection(obj: Object) -> str:
    """Return the path at which an object is created."""
    version = obj["apiVersion"]
    namespace = obj["metadata"].get("namespace")
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{'/apis' if '/' in version else '/api'}/{version}{place}/{plural_of(obj['kind'])}"


def path_of(obj: Object) -> str:
    """Return the path of an object."""
    return f"{collection(obj)}/{obj['metadata']['name']}"


def rego_config_map(name: str, text: str) -> Object:
    """Return a ConfigMap with Rego in a namespace of policies."""
    metadata = {"name": name, "namespace": "opa-policies", "labels": {"openpolicyagent.org/policy": "rego"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"main.rego": text}}


def apply_all(api: ApiServer, objects: Iterable[Object]) -> None:
    """Apply objects one after the other."""
    for obj in objects:
        api.apply(path_of(obj), obj)


def _apply_own(plane: ControlPlane) -> None:
    own = [yaml.safe_load(file.read_text()) for file in sorted(BRIDGE_CRDS.glob("*.yaml"))]
    apply_all(plane.api, own)
    plane.api.wait_for_crds({crd["metadata"]["name"] for crd in own})
