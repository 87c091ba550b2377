"""Server-sent events as they are written."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bridge.web import responses as module
from bridge.web.responses import Event, Streams
from bridge.web.site import Guard


def test_an_event_is_one_line_of_data_whatever_is_in_it() -> None:
    written = bytes(Event("news", {"name": 'a\n\nevent: fake\ndata: "x"\r\u2028'}, "e-1")).decode()
    assert written.startswith("id: e-1\nevent: news\ndata: {")
    assert written.endswith("\n\n")
    assert written.rstrip("\n").count("\n") == 2


async def test_there_are_only_so_many_streams_and_one_that_ends_makes_room() -> None:
    streams = Streams(most=1)

    async def forever(request: web.Request) -> web.StreamResponse:
        async def events() -> AsyncIterator[Event]:
            yield Event("first", {})
            await asyncio.Event().wait()

        return await streams.send(request, events())

    async def once(request: web.Request) -> web.StreamResponse:
        async def events() -> AsyncIterator[Event]:
            yield Event("first", {})

        return await streams.send(request, events())

    app, guard = web.Application(), Guard(None)
    app.router.add_get("/forever", guard.open(forever))
    app.router.add_get("/once", guard.open(once))
    async with TestClient(TestServer(app)) as client:
        for _ in range(3):
            async with client.get("/once") as response:
                assert response.status == 200
                assert b"event: first" in await response.read()
        async with client.get("/forever") as response:
            await response.content.readuntil(b"event: first\n")
            async with client.get("/once") as refused:
                assert refused.status == 503
                assert refused.headers["Retry-After"]
                assert (await refused.json())["error"]["code"] == "TooMany"


TOKENS = ("the-first-token-0123456789-abcdefgh", "the-second-token-0123456789-abcdefg")


@pytest.mark.parametrize("heartbeat", [None, Event("heartbeat", {})], ids=["for programs", "for pages"])
async def test_stream_without_events_has_heartbeats_and_ends_with_its_token(
    heartbeat: Event | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT", 0.05)
    monkeypatch.setattr(module, "CHECKED", 0.05)
    tokens = list(TOKENS[:1])
    guard = Guard(lambda: tokens[-1])
    streams = Streams(allows=guard.still_allows)

    async def quiet(request: web.Request) -> web.StreamResponse:
        async def events() -> AsyncIterator[Event]:
            await asyncio.Event().wait()
            yield Event("never", {})

        return await streams.send(request, events(), heartbeat)

    app = web.Application()
    app.router.add_get("/quiet", guard.closed(quiet))
    sent = {"Authorization": f"Bearer {TOKENS[0]}"}
    mark = b"event: heartbeat\n" if heartbeat else b": still here\n"
    async with TestClient(TestServer(app)) as client, client.get("/quiet", headers=sent) as response:
        for _ in range(3):
            await response.content.readuntil(mark)
        tokens[0] = "no"  # cannot be used: nothing ends by that
        await response.content.readuntil(mark)
        tokens.append(TOKENS[1])
        await asyncio.wait_for(response.content.read(), 60)
        assert response.content.at_eof()
