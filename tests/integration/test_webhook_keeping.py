"""What the bridge keeps on the API server for its webhook: the configurations."""

import operator

import pytest
import structlog

from bridge.admission.webhook_configuration import (
    API_VERSION,
    KINDS,
    MUTATING,
    POLICIES_ANYWHERE,
    Keeper,
    Kind,
    Target,
    webhook_configuration,
)
from bridge.kube.kube_client import KubeClient
from bridge.kube.kube_errors import KubeError
from tests.controlplane.plane import ControlPlane
from tests.eventually import equal_to, eventually
from tests.integration.api_objects import apply_crd, crd, fresh_name
from tests.working import working


async def test_rights_that_are_missing_are_named_once(limited: KubeClient) -> None:
    with structlog.testing.capture_logs() as logs:
        async with working(Keeper(limited, "x", lambda: True, lambda: True, frozenset).run):
            await eventually(lambda: len(logs) >= 2)
    whys = [entry["why"] for entry in logs]
    assert len(whys) == 2
    assert "get and patch on mutatingwebhookconfigurations.admissionregistration.k8s.io" in whys[0]
    assert "get and patch on validatingwebhookconfigurations.admissionregistration.k8s.io" in whys[1]


@pytest.mark.parametrize("which", KINDS, ids=[which.plural for which in KINDS])
async def test_changes_of_others_in_a_configuration_are_fixed_and_the_rest_is_theirs(
    client: KubeClient, monkeypatch: pytest.MonkeyPatch, which: Kind
) -> None:
    configurations = f"/apis/{API_VERSION}/{which.plural}"
    monkeypatch.setattr("bridge.admission.webhook_configuration.AUDIT", 0.2)
    name = fresh_name("config")
    target = Target(url="https://127.0.0.1:1/admission")
    document = webhook_configuration(which, name, target, exempt=["a"], timeout=5, policies=False)
    document["webhooks"][0]["namespaceSelector"]["matchExpressions"] = [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["nowhere"]}
    ]
    await client.post(configurations, document)

    async def fields() -> tuple[str, int]:
        (webhook,) = (await client.get(f"{configurations}/{name}"))["webhooks"]
        return webhook["failurePolicy"], webhook["timeoutSeconds"]

    async with working(Keeper(client, name, lambda: True, lambda: True, frozenset, b"CA").run):
        await eventually(fields, equal_to(("Fail", 5)))
        theirs = [
            {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"},
            {"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 7},
        ]
        await client.patch(f"{configurations}/{name}", theirs, "application/json-patch+json")
        await eventually(fields, equal_to(("Fail", 7)))
    await client.delete(f"{configurations}/{name}")


async def test_objects_that_policies_need_can_be_written_while_no_client_answers(
    client: KubeClient, namespace: str
) -> None:
    name = fresh_name("config")
    configurations = f"/apis/{API_VERSION}/{MUTATING.plural}"
    document = webhook_configuration(
        MUTATING,
        name,
        Target(url="https://127.0.0.1:1/admission"),
        exempt=["a"],
        timeout=1,
        resources=["configmaps"],
        policies=False,
        conditions=[POLICIES_ANYWHERE],
    )
    webhook = document["webhooks"][0]
    webhook["failurePolicy"] = "Fail"
    webhook["namespaceSelector"]["matchExpressions"] = [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}
    ]
    await client.post(configurations, document)

    async def make(plural: str, name: str, **labels: str) -> bool:
        try:
            await client.post(
                f"/api/v1/namespaces/{namespace}/{plural}", {"metadata": {"name": name, "labels": labels}}
            )
        except KubeError as error:
            assert "failed calling webhook" in str(error)  # noqa: PT017
            return False
        return True

    try:
        await eventually(lambda: make("configmaps", fresh_name("map")), operator.not_)
        assert await make("configmaps", "policy", **{"openpolicyagent.org/policy": "rego"})
        # Taking the label off is a way to fix too.
        off = {"metadata": {"labels": {"openpolicyagent.org/policy": None}}}
        await client.patch(f"/api/v1/namespaces/{namespace}/configmaps/policy", off)
    finally:
        await client.delete(f"{configurations}/{name}")


@pytest.mark.parametrize("which", KINDS, ids=[which.plural for which in KINDS])
async def test_policies_of_any_group_are_requested_and_other_objects_are_not(
    control_plane: ControlPlane, client: KubeClient, namespace: str, which: Kind
) -> None:
    configurations = f"/apis/{API_VERSION}/{which.plural}"
    name, group = fresh_name("config"), f"{fresh_name('policies')}.example.com"
    for plural, kind in (("paintpolicies", "PaintPolicy"), ("paints", "Paint")):
        await apply_crd(control_plane.api, crd(plural, kind, group=group))
    target = Target(url="https://127.0.0.1:1/admission")
    named = [f"paintpolicies.{fresh_name('other')}"]
    document = webhook_configuration(which, name, target, exempt=["a"], timeout=1, resources=named)
    for webhook in document["webhooks"]:
        webhook["failurePolicy"] = "Fail"
        webhook["namespaceSelector"]["matchExpressions"] = [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}
        ]
    await client.post(configurations, document)

    async def requested(plural: str, kind: str, spec: object) -> bool:
        obj = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"generateName": "one-"}, "spec": spec}
        try:
            await client.post(f"/apis/{group}/v1/namespaces/{namespace}/{plural}", obj)
        except KubeError as error:
            assert f'failed calling webhook "policies.{which.webhook}"' in str(error)  # noqa: PT017
            return True
        return False

    refs = [{"group": "", "kind": "Service", "name": "cart"}]
    try:
        await eventually(lambda: requested("paintpolicies", "PaintPolicy", {"targetRefs": refs}))
        assert await requested("paintpolicies", "PaintPolicy", {"targetRef": refs[0]})
        assert await requested("paintpolicies", "PaintPolicy", {"targetSelectors": []})
        for spec in ({"color": "red"}, ["targetRefs"], "targetRefs", None):
            assert not await requested("paintpolicies", "PaintPolicy", spec), spec
        assert await requested("paints", "Paint", {"targetRefs": refs})  # whatever the plural
        assert not await requested("paints", "Paint", {"color": "red"})
    finally:
        await client.delete(f"{configurations}/{name}")
