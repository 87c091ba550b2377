"""An OPA that answers to tokens alone: who may ask it for what, from its first moment on."""

import asyncio
import contextlib
import functools
import json
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from bridge.files import authorization_policy, rego_root
from bridge.http import bundles as token_module
from bridge.http.bundles import Tokens, sign_bundle
from bridge.opa.bundle import TOKENS_NAME, opa_arguments, opa_config
from bridge.opa.client import Opa
from bridge.opa.shipped import shipped_bundle
from tests.bundle_trust import shared_credentials, shared_trust, signed_endpoint, unguarded
from tests.eventually import eventually
from tests.ports import free_ports

BRIDGE = "token-of-the-bridge-itself"
READER = "token-of-a-reader-of-policies"
PATIENCE = 300.0


@dataclass
class Guarded:
    """An OPA at a Unix socket and at a port for readers, with the files of the tokens that it is to accept."""

    socket: Path
    service: str
    own: Path
    readers: Path
    tokens: Tokens
    session: aiohttp.ClientSession
    process: asyncio.subprocess.Process
    served: web.AppRunner

    async def ask(self, method: str, path: str, token: str | None = READER, body: object = None) -> tuple[int, str]:
        """A request to the port for readers: the status and the body."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None if body is None else json.dumps(body)
        async with self.session.request(method, f"{self.service}/{path}", data=data, headers=headers) as answer:
            return answer.status, await answer.text()


@pytest.fixture
async def guarded(opa_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Guarded]:
    """Such an OPA, whose bundles are not served yet."""
    monkeypatch.setattr(token_module, "FILES", 0.1)
    readers = tmp_path / "readers"
    readers.mkdir()
    (readers / "gateway").write_text(f"# of the gateway\n{READER}\n")
    own = tmp_path / "token"
    own.write_text(f"{BRIDGE}\n")
    app = web.Application()
    modules = signed_endpoint(shipped_bundle(rego_root()))
    tokens = Tokens(str(own), str(readers), functools.partial(sign_bundle, shared_credentials().key, TOKENS_NAME))
    for endpoint in (modules, tokens.endpoint):
        endpoint.add_to(app, unguarded)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    ports = free_ports(2)
    (tmp_path / "opa.json").write_text(
        json.dumps(opa_config(f"http://127.0.0.1:{ports[0]}", shared_trust(), authorization=True))
    )
    (tmp_path / "authz.rego").write_text(authorization_policy())
    at = tmp_path / "s"
    arguments = opa_arguments(
        str(tmp_path / "opa.json"), str(tmp_path / "authz.rego"), (f"unix://{at}", f"127.0.0.1:{ports[1]}")
    )
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(opa_path, *arguments, stdout=log, stderr=log)
    following = asyncio.create_task(tokens.run())
    try:
        async with aiohttp.ClientSession() as session:
            found = Guarded(at, f"http://127.0.0.1:{ports[1]}", own, readers, tokens, session, process, runner)
            await eventually(lambda: _answers(found), about=lambda: f"OPA does not answer: {tmp_path / 'log'}")
            yield found
    finally:
        following.cancel()
        process.kill()
        await process.wait()
        await runner.cleanup()
        await asyncio.gather(following, return_exceptions=True)


async def _serve(found: Guarded) -> None:
    """Serve the bundles, and wait until OPA has taken them."""
    port = int(json.loads((found.own.parent / "opa.json").read_text())["services"]["bridge"]["url"].rpartition(":")[2])
    await web.TCPSite(found.served, "127.0.0.1", port).start()

    async def taken() -> bool:
        status, text = await found.ask("POST", "v1/data/bridge/v1/types", body={"input": {}})
        return status == 200 and "result" in text

    await eventually(taken, about=lambda: "OPA does not take the bundles")


async def test_no_client_gets_in_before_the_tokens_are_there_but_its_health(guarded: Guarded) -> None:
    for token in (None, BRIDGE, READER):
        assert (await guarded.ask("GET", "v1/data", token))[0] == 401
        assert (await guarded.ask("PUT", "v1/data/objects", token, {}))[0] == 401
    assert "has not provided tokens yet" in (await guarded.ask("GET", "v1/data", BRIDGE))[1]
    assert (await guarded.ask("GET", "health", None))[0] == 200


async def test_readers_ask_queries_and_nothing_else_and_the_bridge_works_by_the_socket(guarded: Guarded) -> None:
    await _serve(guarded)
    assert stat.S_IMODE(guarded.socket.stat().st_mode) == 0o600
    async with Opa(f"unix://{guarded.socket}", token=BRIDGE) as opa:
        await opa.put("objects", {"core": {"Service": {"shop": {"cart": {}}}}})
        await opa.patch([{"op": "add", "path": "/kinds", "value": {}}])
        assert await opa.get("objects/core/Service/shop/cart") == {}
    assert (await guarded.ask("POST", "v1/data/bridge/v1/types", body={"input": {}}))[0] == 200
    assert (await guarded.ask("GET", "v1/data/bridge/v1/types"))[0] == 200

    module = "package mine\n\nallow := true\n"
    refused: list[tuple[str, str, object]] = [
        ("PUT", "v1/data/objects", {}),
        ("PUT", "v1/data/bridge/v1/types", {}),
        ("PATCH", "v1/data", [{"op": "add", "path": "/objects", "value": {}}]),
        ("DELETE", "v1/data/objects", None),
        ("PUT", "v1/policies/mine", module),
        ("DELETE", "v1/policies/authz.rego", None),
        ("GET", "v1/policies", None),
        ("GET", "v1/data", None),
        ("GET", "v1/data/objects", None),
        ("GET", "v1/data/bridge/v1/%2e%2e/objects", None),
        ("GET", "v1/data/system", None),
        ("GET", "v1/config", None),
        ("POST", "v1/query", {"query": "data.objects"}),
        ("POST", "v1/compile", {"query": "data.objects"}),
        ("POST", "v1/data/bridge/v1/types?explain=full", {"input": {}}),
        ("POST", "v0/data/bridge/v1/types", {}),
        ("POST", "", {}),
    ]
    for method, path, body in refused:
        status, said = await guarded.ask(method, path, READER, body)
        assert status == 401, (method, path, said)
        assert (await guarded.ask(method, path, None, body))[0] == 401, (method, path)
    # The server redirects a path that is not plain, and authorizes the next request again.
    assert (await guarded.ask("GET", "v1/data/bridge/v1/../../objects"))[0] == 401
    assert (await guarded.ask("GET", "v1/data", "token-of-somebody-else"))[0] == 401
    async with Opa(f"unix://{guarded.socket}", token=BRIDGE) as opa:
        assert await opa.get("objects/core/Service/shop/cart") == {}, "nothing was written meanwhile"


async def test_tokens_are_nowhere_in_opa_and_no_client_adds_one(guarded: Guarded) -> None:
    await _serve(guarded)
    async with Opa(f"unix://{guarded.socket}", token=BRIDGE) as opa:
        held = await opa.get("system/policy_bridge/tokens")
        assert held is not None
        assert sorted(held.values()) == ["bridge", "reader"]
        everything = json.dumps([await opa.get("system"), await opa.config()])
        assert BRIDGE not in everything, "a token is in OPA's data"
        assert READER not in everything, "a token is in OPA's data"
        status, _ = await guarded.ask("PUT", "v1/data/system/policy_bridge/tokens/x", BRIDGE, "bridge")
        assert status == 400, "the bundle owns what the tokens are"


async def test_tokens_that_change_are_taken_up_without_a_gap(guarded: Guarded) -> None:
    await _serve(guarded)
    async with Opa(f"unix://{guarded.socket}", token=guarded.tokens.own) as opa:
        after = "token-of-the-bridge-after-that"
        guarded.own.write_text(after)
        (guarded.readers / "gateway").write_text("token-of-another-reader")
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while guarded.tokens.own() != after:
            await opa.get("kinds")  # raises where it is not accepted
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.01)
        await opa.get("kinds")

    async def known() -> bool:
        old = await guarded.ask("GET", "v1/data/bridge/v1/types", READER)
        new = await guarded.ask("GET", "v1/data/bridge/v1/types", "token-of-another-reader")
        return (old[0], new[0]) == (401, 200)

    await eventually(known, about=lambda: "the readers' tokens are not taken up")
    guarded.own.unlink()
    (guarded.readers / "short").write_text("secret")
    await asyncio.sleep(0.5)
    assert guarded.tokens.own() == after, "a file that is missing, or has no token, changes nothing"


async def _answers(found: Guarded) -> bool:
    assert found.process.returncode is None, "OPA stopped"
    with contextlib.suppress(aiohttp.ClientError):
        return (await found.ask("GET", "health", None))[0] == 200
    return False
