"""Server-sent events as they are written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bridge.web.events import Event, Streams
from bridge.web.guard import Guard


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
