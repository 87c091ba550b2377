"""The webhook over TLS, with a proxy before a real OPA: back-pressure, another OPA, large objects, Events."""

import datetime as dt
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from bridge.kube.kube_client import KubeClient
from bridge.kube.recording import Recorder
from bridge.opa.process import ManagedOpa
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import fresh_name
from tests.integration.faulty_opa import FaultyOpa, once, refuse
from tests.integration.served_webhook import serving
from tests.integration.webhook import BUNDLE, PLACEMENT
from tests.ports import free_port
from tests.working import working

pytestmark = pytest.mark.asyncio(loop_scope="module")


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


async def test_a_decision_in_another_opa_is_queried_with_its_token(
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
        async with working(recorder.run):
            async with serving(tmp_path, proxy.url, recorder.record) as ask:
                assert (await ask({"region": "eu"}, fresh_name("map")))["status"]["code"] == 503
            client_certificate: dict[str, Any] = {"webhook_client_ca_file": str(tmp_path / "ca.crt")}
            async with serving(tmp_path, proxy.url, recorder.record, **client_certificate) as ask:
                assert (await ask({"region": "eu"}, name))["status"]["code"] == 503
            found = await eventually(lambda: _events(client, name))
    assert (found[0]["type"], found[0]["reason"]) == ("Warning", "AdmissionUndecided")
    assert found[0]["note"].startswith("CREATE was denied: placement: OPA answered 500 internal_error: for now")


async def _events(client: KubeClient, name: str) -> list[dict[str, Any]]:
    events = (await client.get("/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
    return [event for event in events if event["regarding"]["name"] == name]
