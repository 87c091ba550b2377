"""Events of the chosen object: a cluster has them, a folder does not."""

from pathlib import Path

import pytest

from tests.controlplane.fixtures import Apply
from tests.controlplane.plane import ControlPlane
from tests.web.bridges import Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

NAME = "events-on-the-page"
GATEWAY = f"gateway.networking.k8s.io/Gateway/{NAME}/edge"
OBJECTS = f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {NAME}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: bridge, namespace: {NAME}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {NAME}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {NAME}}}
subjects: [{{kind: ServiceAccount, name: bridge, namespace: {NAME}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: edge, namespace: {NAME}}}
spec:
  gatewayClassName: {NAME}
  listeners: [{{name: http, port: 80, protocol: HTTP}}]
---
apiVersion: v1
kind: Event
metadata: {{name: edge.1, namespace: {NAME}}}
involvedObject: {{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, namespace: {NAME}, name: edge}}
type: Warning
reason: NoAddress
message: no address is left in <b>the pool</b>
count: 3
lastTimestamp: "2026-01-01T00:00:00Z"
source: {{component: example.com/gateway}}
"""
ROLE = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: {NAME}}}
rules:
- apiGroups: [gateway.networking.k8s.io, apiextensions.k8s.io, coordination.k8s.io, policybridge.io, events.k8s.io]
  resources: ["*"]
  verbs: ["*"]
- {{apiGroups: [""], resources: [namespaces, services, configmaps], verbs: [get, list, watch]}}
"""
LIST_EVENTS = """\
- {apiGroups: [""], resources: [events], verbs: [list]}
"""


async def test_events_of_the_chosen_object_are_listed_once_the_bridge_may_read_them(
    control_plane: ControlPlane, kubectl_apply: Apply, page: Opened, tmp_path: Path
) -> None:
    kubectl_apply(OBJECTS)
    kubectl_apply(ROLE)
    path = f"/api/v1/namespaces/{NAME}/serviceaccounts/bridge/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = control_plane.api.request("POST", path, body)["status"]["token"]
    bridge = Bridge(control_plane.write_kubeconfig(tmp_path / "account", token), tmp_path / "log")
    bridge.start()
    try:
        await page.go(bridge.url)
        assert not any("api/events" in url for url in page.requested)
        await page.page.goto(f"{bridge.url}#object={GATEWAY}")
        await page.shows("#details .events", "They cannot be read: the bridge may not list Events")
        kubectl_apply(ROLE + LIST_EVENTS)
        await page.page.reload()
        await page.shows("#details .events", "NoAddress Warning")
        await page.shows("#details .events", "3 times · example.com/gateway no address is left in <b>the pool</b>")
        await page.page.goto("about:blank")
    finally:
        bridge.stop()


async def test_a_folder_has_no_events(shop: Bridge, page: Opened) -> None:
    async with page.page.expect_response("**/api/events*") as answer:
        await page.go(f"{shop.url}#object=core/Service/payments/ledger")
    assert await (await answer.value).json() == {"events": None}
    assert await page.page.locator("#details .events").inner_text() == ""
