from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bridge.telemetry.metrics import add_probes

Client = TestClient[web.Request, web.Application]


@pytest.fixture
def checks() -> dict[str, str]:
    """What the checks say; a test changes it."""
    return {"replicator": "the initial sync of OPA is incomplete", "lease": ""}


@pytest.fixture
async def client(checks: dict[str, str]) -> AsyncIterator[Client]:
    app = web.Application()
    add_probes(app, lambda: checks)
    async with TestClient(TestServer(app)) as found:
        yield found


async def test_it_is_alive_though_it_is_not_ready(client: Client) -> None:
    answer = await client.get("/livez")
    assert (answer.status, await answer.text()) == (200, "ok\n")


async def test_it_is_not_ready_with_reasons_until_every_check_is(client: Client, checks: dict[str, str]) -> None:
    answer = await client.get("/readyz")
    said = "[-] replicator: the initial sync of OPA is incomplete\nreadyz check failed\n"
    assert (answer.status, await answer.text()) == (503, said)
    checks["replicator"] = ""
    answer = await client.get("/readyz")
    assert (answer.status, await answer.text()) == (200, "ok\n")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "bridge.example"},
        {"X-Forwarded-For": "10.0.0.1"},
        {"X-Real-IP": "10.0.0.1"},
        {"Via": "1.1 proxy"},
        {"Origin": "http://evil.example"},
    ],
)
async def test_reasons_are_for_this_machine_alone(client: Client, headers: dict[str, str]) -> None:
    """A reason may name an object, such as a ConfigMap with policies."""
    for path in ("/readyz", "/readyz?verbose"):
        answer = await client.get(path, headers=headers)
        text = await answer.text()
        assert answer.status == 503
        assert "[-] replicator\n" in text
        assert "initial sync" not in text


async def test_verbose_also_lists_problems_of_a_ready_bridge() -> None:
    app = web.Application()
    add_probes(app, lambda: {"lease": ""}, lambda: {"policies": "rules are lost", "view": ""})
    async with TestClient(TestServer(app)) as ready:
        answer = await ready.get("/readyz?verbose")
        assert (answer.status, await answer.text()) == (200, "[+] lease ok\n[!] policies: rules are lost\nok\n")
        assert await (await ready.get("/readyz")).text() == "ok\n"
        hidden = await ready.get("/readyz?verbose", headers={"X-Forwarded-For": "10.0.0.1"})
        assert "lost" not in await hidden.text()


async def test_verbose_lists_every_check(client: Client) -> None:
    text = await (await client.get("/readyz?verbose")).text()
    assert text.splitlines()[:2] == ["[-] replicator: the initial sync of OPA is incomplete", "[+] lease ok"]
