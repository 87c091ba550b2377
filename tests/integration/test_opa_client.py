import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bridge.opa.bundle import build_bundle
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaIncomplete, OpaRejected, OpaUnavailable, OpaUndefined, QueryError
from bridge.opa.process import ManagedOpa
from tests.warm_opa import WarmOpa

MODULE = """package bridge.v1

echo := {"got": input.x}

refuse := {"error": {"code": "unknown_kind", "message": "no kind Colour: did you mean ColorPolicy?"}}

lack := {"error": {"code": "NotReady", "message": "the initial sync of OPA is incomplete"}}

clash := 1 if input.x

clash := 2 if input.x
"""
BUNDLE = build_bundle({"bridge/v1.rego": MODULE}, {}, ["bridge/v1"])


@pytest.fixture(params=[False, True], ids=["pool", "threads"])
def brief(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
async def opa(opa_path: Path, brief: bool) -> AsyncIterator[Opa]:
    async with WarmOpa(opa_path, bundle=BUNDLE) as managed, Opa(managed.url, brief=brief) as client:
        yield client


async def test_a_query_that_answers_with_an_error_raises_it(opa: Opa) -> None:
    with pytest.raises(QueryError, match="did you mean") as caught:
        await opa.query("refuse", {})
    assert caught.value.code == "unknown_kind"


async def test_an_opa_that_lacks_objects_is_one_to_ask_again(opa: Opa) -> None:
    with pytest.raises(OpaIncomplete, match="the initial sync of OPA is incomplete") as caught:
        await opa.query("lack", {})
    assert isinstance(caught.value, OpaUnavailable)


async def test_a_query_that_does_not_exist_is_undefined(opa: Opa) -> None:
    with pytest.raises(OpaUndefined, match="bridge/v1/nowhere"):
        await opa.query("nowhere", {})


async def test_an_evaluation_error_keeps_opas_code_and_place(opa: Opa) -> None:
    with pytest.raises(OpaRejected) as caught:
        await opa.query("clash", {"x": True})
    assert caught.value.status == 500
    assert caught.value.code == "internal_error"
    assert caught.value.errors[0]["code"] == "eval_conflict_error"
    assert "v1.rego:" in str(caught.value)


async def test_objects_are_those_of_the_chosen_cluster(opa: Opa) -> None:
    await opa.put("clusters/east/objects", {"core": {"a/b": 1}})
    await opa.put("objects", {"core": {"a/b": 2}})
    assert await opa.get("objects/core/a~1b") == 2
    opa.cluster = "east"
    assert (await opa.get("objects/core/a~1b"), await opa.get("/objects/core")) == (1, {"a/b": 1})
    assert await opa.get("clusters/east/objects/core") == {"a/b": 1}


async def test_an_answer_that_takes_too_long_is_unavailable(brief: bool) -> None:
    async def linger(_: web.Request) -> web.Response:
        await asyncio.sleep(5)
        return web.Response()

    async with serving({"/v1/data/x": linger}) as url, Opa(url, timeout=0.1, brief=brief) as client:
        with pytest.raises(OpaUnavailable, match=r"no answer within 0\.1 s"):
            await client.get("x")


async def test_a_query_that_nobody_waits_for_ends_in_opa(brief: bool) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun.set()
        await reader.read()  # until the client closes the connection
        ended.set()
        writer.close()

    server = await asyncio.start_server(linger, "127.0.0.1")
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, Opa(url, brief=brief) as client:
        asking = asyncio.create_task(client.get("x"))
        await begun.wait()
        asking.cancel()
        await asyncio.wait_for(ended.wait(), 300)


async def test_a_server_that_is_not_opa_is_reported(brief: bool) -> None:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>")

    async with serving({"/v1/data/x": page}) as url, Opa(url, brief=brief) as client:
        with pytest.raises(OpaError, match="does not respond like OPA"):
            await client.get("x")


@pytest.mark.parametrize("url", ["ftp://x", "http://", "unix:x", "unix:///", "unix://run/opa.sock"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(OpaError, match="not a URL of"):
        Opa(url)


async def test_the_token_is_requested_again_at_each_request_and_a_path_prefix_is_kept(brief: bool) -> None:
    seen: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization"))
        return web.json_response({"result": 1})

    tokens = iter(["one", "two"])
    async with serving({"/opa/v1/data/x": answer}) as url:
        async with Opa(f"{url}/opa/", token=lambda: next(tokens), brief=brief) as client:
            assert [await client.get("x"), await client.get("x")] == [1, 1]
        async with Opa(f"{url}/opa", token="fixed", brief=brief) as client:
            await client.get("x")
    assert seen == ["Bearer one", "Bearer two", "Bearer fixed"]


async def test_a_connection_is_kept_for_the_next_request(brief: bool) -> None:
    ports: set[object] = set()

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername"))
        return web.json_response({"result": 1})

    async with serving({"/v1/data/x": answer}) as url, Opa(url, brief=brief) as client:
        for _ in range(5):
            await client.ask("x", {})
    assert len(ports) == 1


async def test_a_query_on_a_connection_that_opa_closed_meanwhile_is_queried_once_more(
    opa_path: Path, brief: bool
) -> None:
    first = ManagedOpa(opa_path, {}, bundle=BUNDLE)
    url = await first.start()
    async with Opa(url, brief=brief) as client:
        await asyncio.gather(*(client.query("echo", {"x": 1}) for _ in range(3)))  # a connection each
        await first.stop()
        async with ManagedOpa(opa_path, {}, bundle=BUNDLE, port=int(url.rpartition(":")[2])):
            assert await client.query("echo", {"x": 2}) == {"got": 2}


@contextlib.asynccontextmanager
async def serving(routes: dict[str, object]) -> AsyncIterator[str]:
    """A small HTTP server on loopback, for what a real OPA cannot be brought to do."""
    app = web.Application()
    for path, handler in routes.items():
        app.router.add_route("*", path, handler)  # type: ignore[arg-type]
    async with TestServer(app) as server:
        yield str(server.make_url(""))


async def test_requests_over_the_bound_wait_for_the_others(opa_path: Path) -> None:
    slow = "package bridge.v1\n\nslow := count([1 | some i in numbers.range(1, 300000); i % 7 == 0])\n"
    bundle = build_bundle({"bridge/v1.rego": slow}, {}, ["bridge/v1"])
    async with WarmOpa(opa_path, bundle=bundle) as managed, Opa(managed.url, at_once=1) as client:
        order: list[str] = []

        async def ask(name: str) -> None:
            await client.query(name, {}) if name == "slow" else await client.get("bridge/v1/none")
            order.append(name)

        first = asyncio.create_task(ask("slow"))
        await asyncio.sleep(0.01)
        await asyncio.gather(first, ask("quick"))
        assert order == ["slow", "quick"]


async def test_modules_are_listed_by_the_object_that_submitted_them(opa_path: Path) -> None:
    modules = {
        "core/ConfigMap/opa-policies/acme/a.rego": "package acme.a\nallow := true\n",
        "core/ConfigMap/opa-policies/acme/b.rego": "package acme.b\nallow := true\n",
        "policybridge.io/RegoPolicy/-/rates/main.rego": "package rates\nallow := true\n",
        "bridge/v1.rego": MODULE,
    }
    bundle = build_bundle(modules, {}, ["acme", "rates", "bridge/v1"])
    async with WarmOpa(opa_path, bundle=bundle) as managed, Opa(managed.url) as client:
        assert {str(author): packages for author, packages in (await client.modules_by_author()).items()} == {
            "core/ConfigMap/opa-policies/acme": ["acme.a", "acme.b"],
            "policybridge.io/RegoPolicy/-/rates": ["rates"],
        }


async def test_answer_that_is_too_deep_for_python_is_an_error_of_opa(opa: Opa) -> None:
    await opa.put("abyss", msgspec.Raw(b'{"a":' * 5_000 + b"1" + b"}" * 5_000))
    with pytest.raises(OpaError, match="invalid response from OPA: it is nested more than"):
        await opa.get("abyss")
    assert await opa.get("bridge_test_is_still_there") is None


async def test_a_query_after_the_client_was_closed_is_answered_as_without_opa(opa: Opa, brief: bool) -> None:
    async with Opa(opa.url, brief=brief) as client:
        await client.query("echo", {"x": 1})
    with pytest.raises(OpaUnavailable, match="the bridge is stopping"):
        await client.query("echo", {"x": 1})
