"""Objects that are changed past the mutating webhook: by a later mutator, and by subresources."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import trustme
from aiohttp import web

from bridge.admission.webhook_configuration import API_VERSION, MUTATING
from bridge.model.keys import key_of
from bridge.opa.client import Opa
from tests.bundles import bundle_with
from tests.controlplane.api import ApiError
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import make_namespace
from tests.integration.webhook import AtWork, webhook_at_work
from tests.ports import free_port

pytestmark = pytest.mark.asyncio(loop_scope="module")

POLICY = """package k8s.limits

violation contains {"msg": sprintf("%s is forbidden", [container.image])} if {
	some list in ["containers", "ephemeralContainers"]
	some container in input.review.object.spec[list]
	endswith(container.image, ":forbidden")
}

violation contains {"msg": "label forbidden"} if input.review.object.metadata.labels.forbidden

violation contains {"msg": "annotation forbidden"} if input.review.object.metadata.annotations.forbidden

violation contains {"msg": sprintf("%d replicas are too many", [input.review.object.spec.replicas])} if {
	input.review.object.spec.replicas > 3
}
"""
CONSTRAINT = {
    "apiVersion": "policybridge.io/v1alpha1",
    "kind": "Constraint",
    "metadata": {"name": "limits"},
    "spec": {
        "policy": "k8s.limits",
        "match": {"kinds": [{"apiGroups": ["", "apps"], "kinds": ["Namespace", "Pod", "Deployment"]}]},
    },
}
LABELS = {"app": "cart"}
POD: dict[str, Any] = {
    "metadata": {"name": "cart", "labels": LABELS},
    "spec": {"containers": [{"name": "cart", "image": "cart:1"}]},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def work(control_plane: ControlPlane, opa_path: Path, kubectl_path: Path) -> AsyncIterator[AtWork]:
    """A webhook at work with a Constraint for Pods and Deployments."""
    namespace = await make_namespace(control_plane.api)
    resources = ("configmaps", "namespaces", "pods", "deployments.apps")
    async with webhook_at_work(
        control_plane, opa_path, kubectl_path, namespace, bundle_with([POLICY]), resources=resources
    ) as found:
        await hold(found, CONSTRAINT, await asyncio.to_thread(control_plane.api.get, f"/api/v1/namespaces/{namespace}"))
        forbidden = {"metadata": {"name": "no"}, "spec": {"containers": [{"name": "no", "image": "no:forbidden"}]}}
        await eventually(
            lambda: refusal(found, "pods?dryRun=All", forbidden), lambda said: "[limits] no:forbidden" in said
        )
        yield found


async def hold(work: AtWork, *objects: Any) -> None:
    """Have OPA hold these objects, as the replicator would."""
    async with Opa(work.opa.url) as opa:
        for obj in objects:
            key = key_of(obj)
            await opa.put(f"objects/{key.group}/{key.kind}/{key.namespace}/{key.name}", obj)


async def refusal(work: AtWork, path: str, body: Any, method: str = "POST", group: str = "api/v1") -> str:
    """Why the API server refuses a request in the namespace; empty where it does not."""
    try:
        await asyncio.to_thread(
            work.plane.api.request,
            method,
            f"/{group}/namespaces/{work.namespace}/{path}",
            body,
            "application/strategic-merge-patch+json" if method == "PATCH" else "application/json",
        )
    except ApiError as error:
        return str(error)
    return ""


async def test_ephemeral_container_with_a_forbidden_image_is_denied(work: AtWork) -> None:
    assert await refusal(work, "pods", POD) == ""
    for image, said in [("debug:forbidden", "[limits] debug:forbidden is forbidden"), ("debug:1", "")]:
        debug = {"spec": {"ephemeralContainers": [{"name": "debug", "image": image}]}}
        refused = await refusal(work, "pods/cart/ephemeralcontainers", debug, "PATCH")
        assert (said in refused) if said else (refused == "")


async def test_update_that_changes_no_metadata_is_allowed(work: AtWork) -> None:
    assert await refusal(work, "configmaps", {"metadata": {"name": "plain"}, "data": {"a": "1"}}) == ""
    assert await refusal(work, "configmaps/plain", {"data": {"a": "2"}}, "PATCH") == ""


async def test_scaling_past_a_limit_is_denied(work: AtWork) -> None:
    apps = "apis/apps/v1"
    deployment = {
        "metadata": {"name": "cart"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": POD["spec"]},
        },
    }
    assert await refusal(work, "deployments", deployment, group=apps) == ""
    path = f"/{apps}/namespaces/{work.namespace}/deployments/cart"
    await hold(work, await asyncio.to_thread(work.plane.api.get, path))
    for replicas, said in [(5, "[limits] 5 replicas are too many"), (3, "")]:
        scale = {"spec": {"replicas": replicas}}
        refused = await refusal(work, "deployments/cart/scale", scale, "PATCH", apps)
        assert (said in refused) if said else (refused == "")


FORBIDDEN = {"labels": {"forbidden": "yes"}, "annotations": {"forbidden": "yes"}}


@pytest.mark.parametrize("resource", ["pods/beside/status", "deployments/beside/status"])
async def test_metadata_that_a_status_request_changes_is_denied_and_a_status_is_not(
    work: AtWork, resource: str
) -> None:
    plural, name, _ = resource.split("/")
    group = "apis/apps/v1" if plural == "deployments" else "api/v1"
    spec = {"selector": {"matchLabels": LABELS}, "template": POD} if plural == "deployments" else POD["spec"]
    assert await refusal(work, plural, {"metadata": {"name": name, "labels": LABELS}, "spec": spec}, group=group) == ""
    refused = await refusal(work, resource, {"metadata": FORBIDDEN}, "PATCH", group)
    assert "[limits] annotation forbidden" in refused  # the API server drops labels of a Deployment's status
    status = {"metadata": {"annotations": {"seen": "yes"}}, "status": {"conditions": []}}
    assert await refusal(work, resource, status, "PATCH", group) == ""


@pytest.mark.parametrize("path", ["pods/bound/binding", "bindings"])
async def test_labels_that_a_binding_adds_to_its_pod_are_denied(work: AtWork, path: str) -> None:
    name = "bound" if "/" in path else "bound-too"
    assert await refusal(work, "pods", {**POD, "metadata": {"name": name}}) == ""
    binding = {"target": {"kind": "Node", "name": "n"}}
    refused = await refusal(work, path, {"metadata": {"name": name, **FORBIDDEN}, **binding})
    assert "[limits] label forbidden" in refused
    assert await refusal(work, path, {"metadata": {"name": name}, **binding}) == ""


async def test_metadata_that_a_finalizer_request_of_a_namespace_changes_is_denied(work: AtWork) -> None:
    path = f"/api/v1/namespaces/{work.namespace}"
    namespace = await asyncio.to_thread(work.plane.api.get, path)
    namespace["metadata"]["labels"]["forbidden"] = "yes"
    with pytest.raises(ApiError, match="label forbidden"):
        await asyncio.to_thread(work.plane.api.request, "PUT", f"{path}/finalize", namespace)


async def test_metadata_of_an_object_that_is_being_deleted_is_denied_and_its_finalizer_goes(work: AtWork) -> None:
    metadata = {"name": "leaving", "finalizers": ["example.com/wait"]}
    assert await refusal(work, "pods", {**POD, "metadata": metadata}) == ""
    assert await refusal(work, "pods/leaving", None, "DELETE") == ""
    assert "[limits] label forbidden" in await refusal(work, "pods/leaving", {"metadata": FORBIDDEN}, "PATCH")
    assert await refusal(work, "pods/leaving", {"metadata": {"finalizers": None}}, "PATCH") == ""


async def test_an_object_changed_by_a_later_mutator_is_judged_by_the_validating_webhook(work: AtWork) -> None:
    """The mutator changes the object once more after ours was invoked again (`reinvocationPolicy`)."""
    async with later_mutator(work) as invoked:
        async with asyncio.timeout(300):
            while not invoked:
                refused = await refusal(work, "configmaps?dryRun=All", {"metadata": {"name": "probe"}})
        refused = await refusal(work, "configmaps", {"metadata": {"name": "late"}})
    assert 'admission webhook "validation.policybridge.io" denied the request: late may not be here' in refused


@asynccontextmanager
async def later_mutator(work: AtWork) -> AsyncIterator[list[str]]:
    """Another mutating webhook, which moves what ours has placed to a forbidden region; gives what it was requested."""
    invoked: list[str] = []

    async def mutate(request: web.Request) -> web.Response:
        review = await request.json()
        metadata = review["request"]["object"]["metadata"]
        invoked.append(metadata["name"])
        placed = "example.com/clusters" in metadata.get("annotations", {})
        labels = {"region": "nowhere" if placed else "eu", "seen": str(len(invoked))}
        patch = [{"op": "add", "path": "/metadata/labels", "value": labels}]
        response = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch"}
        response["patch"] = base64.b64encode(json.dumps(patch).encode()).decode()
        return web.json_response({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})

    authority = trustme.CA()
    app = web.Application()
    app.router.add_post("/", mutate)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=_context(authority)).start()
    path = f"/apis/{API_VERSION}/{MUTATING.plural}"
    webhook = {
        **(await work.configuration()),
        "name": "later.example.com",
        "failurePolicy": "Fail",
        "clientConfig": {
            "url": f"https://127.0.0.1:{port}/",
            "caBundle": base64.b64encode(authority.cert_pem.bytes()).decode(),
        },
    }
    document = {
        "apiVersion": API_VERSION,
        "kind": MUTATING.kind,
        "metadata": {"name": f"z-{work.name}"},  # webhooks are invoked in the order of these names
        "webhooks": [webhook],
    }
    await asyncio.to_thread(work.plane.api.request, "POST", path, document)
    try:
        yield invoked
    finally:
        await asyncio.to_thread(work.plane.api.request, "DELETE", f"{path}/z-{work.name}")
        await runner.cleanup()


def _context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context
