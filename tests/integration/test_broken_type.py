"""A type that the API server serves and cannot deliver."""

import asyncio
from pathlib import Path

from bridge.kube.kube_client import KubeClient
from bridge.opa.client import Opa
from bridge.replicator.replicator import Replicator
from bridge.sources.cluster import ClusterSource
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import apply_crd, crd, delete_crd, fresh_name, make_namespace, put_config_map
from tests.warm_opa import WarmOpa
from tests.working import working


async def test_a_type_with_inconvertible_objects_delays_no_other_type(
    control_plane: ControlPlane, opa_path: Path, unused_tcp_port: int
) -> None:
    """Its stored version is not the preferred one, and the conversion webhook is unavailable."""
    api, group = control_plane.api, f"{fresh_name('group')}.example.com"
    namespace, thing = await make_namespace(api), f"{group}/Thing"
    body = crd("things", "Thing", group=group, versions=("v1beta1", "v1"))
    await apply_crd(api, body)
    path = f"/apis/{group}/v1beta1/namespaces/{namespace}/things/one"
    one = {"apiVersion": f"{group}/v1beta1", "kind": "Thing", "metadata": {"name": "one"}, "spec": {}}
    await asyncio.to_thread(api.apply, path, one)
    authority = {"url": f"https://127.0.0.1:{unused_tcp_port}/convert"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": authority}
    body["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    await apply_crd(api, body)
    try:
        async with (
            WarmOpa(opa_path) as managed,
            Opa(managed.url) as opa,
            await KubeClient.connect(control_plane.kubeconfig) as client,
        ):
            replicator = Replicator(ClusterSource(client), opa, [thing, "core/ConfigMap"])
            async with working(replicator.run):
                await asyncio.wait_for(replicator.filled.wait(), 300)
                assert list(replicator.troubles) == [thing]
                await put_config_map(api, namespace, "later", {})
                later = f"objects/core/ConfigMap/{namespace}/later"
                await eventually(lambda: opa.get(later), lambda found: found is not None)
                body["spec"]["conversion"] = {"strategy": "None"}
                await apply_crd(api, body)
                await eventually(lambda: not replicator.troubles)
    finally:
        await delete_crd(api, f"things.{group}")
