"""The webhook over TLS, with a proxy before a real OPA: back-pressure, another OPA, large objects, Events."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import itertools
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from bridge.admission.issuing import new_authority, new_server
from bridge.kube.client import KubeClient
from bridge.kube.recording import Recorder
from bridge.model.recording import Record, record_nothing
from bridge.opa.client import Answer
from bridge.opa.managed import ManagedOpa
from bridge.remediator.sink import MemorySink
from bridge.runtime.opa_access import OpaAccess
from bridge.runtime.settings_loading import load_settings
from bridge.runtime.tokens import Tokens
from bridge.runtime.webhook import Policies, Webhook
from bridge.runtime.world import World
from bridge.sources.manifests import ManifestSource
from tests.controlplane.plane import ControlPlane
from tests.integration.faulty_opa import FaultyOpa, once, refuse
from tests.integration.objects import fresh_name
from tests.integration.webhook import BUNDLE, PLACEMENT, free_port

pytestmark = pytest.mark.asyncio(loop_scope="module")
Ask = Callable[..., Awaitable[dict[str, Any]]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opa(opa_path: Path) -> AsyncIterator[ManagedOpa]:
    """An OPA with the shipped rules and a placement decision."""
    async with ManagedOpa(opa_path, {}, bundle=BUNDLE, port=free_port()) as opa, aiohttp.ClientSession() as session:
        async with session.put(f"{opa.url}/v1/policies/placement", data=PLACEMENT) as answer:
            assert answer.status == 200
        yield opa


@pytest_asyncio.fixture(loop_scope="module")
async def proxy(opa: ManagedOpa) -> AsyncIterator[FaultyOpa]:
    """The same OPA behind a proxy."""
    async with FaultyOpa(opa.url).serving() as proxy:
        yield proxy


@asynccontextmanager
async def serving(folder: Path, opa_url: str, record: Record = record_nothing, **settings: Any) -> AsyncIterator[Ask]:
    """A webhook: gives what asks it about an object."""
    now = dt.datetime.now(dt.UTC)
    authority = new_authority(now)
    pair = new_server(authority, ["127.0.0.1"], now)
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    address = f"127.0.0.1:{free_port()}"
    files = {"webhook_cert_file": str(certificate), "webhook_key_file": str(key)}
    flags = {"webhook_listen": address, "webhook_deadline": 20.0, **files, **settings}

    def distrust(answer: Answer) -> str:
        return "" if answer.revision == BUNDLE.revision else "OPA has other modules"

    world = World("test", ManifestSource([], follow=False), MemorySink(), nothing, record)
    configured = load_settings(None, flags, {})
    access = OpaAccess(opa_url, configured, Tokens(configured.opa_token_file, None))
    webhook = Webhook(configured, world, access, Policies(lambda: True, distrust))
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    task = asyncio.create_task(webhook.run())
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        async with asyncio.timeout(30):
            while webhook.readiness():
                assert not task.done(), task
                await asyncio.sleep(0.05)

        async def ask(labels: dict[str, str], name: str = "a", **data: str) -> dict[str, Any]:
            metadata = {"name": name, "namespace": "default", "labels": labels}
            obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
            request = {"uid": "7", "kind": kind, "operation": "CREATE", "namespace": "default", "object": obj}
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
            url = f"https://{address}/admission?timeout=20s"
            body, headers = io.BytesIO(json.dumps(review).encode()), {"Content-Type": "application/json"}
            async with session.post(url, data=body, headers=headers) as answer:
                assert answer.status == 200, await answer.text()
                response: dict[str, Any] = json.loads(await answer.text())["response"]
                return response

        try:
            yield ask
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def nothing() -> None:
    """Nothing to do meanwhile."""


@pytest.mark.parametrize("status", [429, 503])
async def test_back_pressure_is_waited_for_as_long_as_it_says(tmp_path: Path, proxy: FaultyOpa, status: int) -> None:
    came: list[float] = []
    refusing = once(refuse(status, retry_after=1), 2)

    async def note(request: web.Request, pass_on: Callable[[], Awaitable[web.Response]]) -> web.StreamResponse:
        if "federation" not in request.path:
            return await pass_on()
        came.append(dt.datetime.now(dt.UTC).timestamp())
        return await refusing(request, pass_on)

    async with serving(tmp_path, proxy.url) as ask:
        proxy.question_fault = note
        response = await ask({"region": "nowhere"})
    assert response["status"]["message"] == "a may not be here"
    assert len(came) == 3
    assert min(later - before for before, later in itertools.pairwise(came)) > 0.9


async def test_a_decision_in_another_opa_is_asked_with_its_token(
    tmp_path: Path, opa: ManagedOpa, proxy: FaultyOpa
) -> None:
    async def guard(request: web.Request, pass_on: Callable[[], Awaitable[web.Response]]) -> web.StreamResponse:
        if request.headers.get("Authorization") == "Bearer s3cret":
            return await pass_on()
        return web.json_response({"code": "unauthorized", "message": "who are you"}, status=401)

    proxy.question_fault = guard
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    decision = f"{proxy.url}/v1/data/io/k8s/federation/admission"
    async with serving(tmp_path, opa.url, webhook_decision=decision, webhook_token_file=str(token)) as ask:
        assert (await ask({"region": "nowhere"}))["status"]["message"] == "a may not be here"
        assert "patch" in await ask({"region": "eu"})
        token.write_text("guessed")
        response = await ask({"region": "eu"})
    assert response["status"]["code"] == 503
    assert "placement: OPA does not accept the bridge's token" in response["status"]["message"]


async def test_an_object_of_3_mb_is_decided(tmp_path: Path, opa: ManagedOpa) -> None:
    async with serving(tmp_path, opa.url) as ask:
        large = {f"key-{number}": "y" * 100_000 for number in range(30)}
        assert "patch" in await ask({"region": "eu"}, **large)
        assert (await ask({"region": "nowhere"}, **large))["status"]["message"] == "a may not be here"


async def test_a_failure_is_an_event_on_the_object_that_a_person_sees(
    tmp_path: Path, control_plane: ControlPlane, proxy: FaultyOpa
) -> None:
    proxy.question_fault = refuse(500)
    name = fresh_name("map")
    async with await KubeClient.connect(str(control_plane.kubeconfig), None) as client:
        recorder = Recorder(client, "policybridge.io/bridge")
        recording = asyncio.create_task(recorder.run())
        try:
            async with serving(tmp_path, proxy.url, recorder.record) as ask:
                assert (await ask({"region": "eu"}, name))["status"]["code"] == 503
            async with asyncio.timeout(30):
                while not (found := await _events(client, name)):  # noqa: ASYNC110 - of another process
                    await asyncio.sleep(0.1)
        finally:
            recording.cancel()
            await asyncio.gather(recording, return_exceptions=True)
    assert (found[0]["type"], found[0]["reason"]) == ("Warning", "AdmissionUndecided")
    assert found[0]["note"].startswith("CREATE was denied: placement: OPA answered 500 internal_error: for now")


async def _events(client: KubeClient, name: str) -> list[dict[str, Any]]:
    events = (await client.get("/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
    return [event for event in events if event["regarding"]["name"] == name]
