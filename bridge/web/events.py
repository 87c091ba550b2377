"""Server-sent events (WHATWG HTML, "Server-sent events"), with a heartbeat and bounded queues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from aiohttp import web

from bridge.http.request_guard import Refused

HEARTBEAT = 15.0  # seconds without events after which a comment is sent, so no proxy closes the stream
STALLED = 60.0  # seconds after which a client that reads nothing is disconnected
MOST_STREAMS = 1_000
RETRY = 1000  # milliseconds that a client waits before it connects again
_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Accel-Buffering": "no",  # nginx would buffer events
}


class Event:
    """One event: its name, its data as JSON, and the id with which a client continues after it."""

    __slots__ = ("_text",)

    def __init__(self, name: str, data: Any, id: str = "") -> None:  # noqa: A002 - the standard's word
        # JSON has no line breaks, so the data is one line, and an object's content cannot end it.
        body = msgspec.json.encode(data)
        head = f"id: {id}\n" if id else ""
        self._text = f"{head}event: {name}\ndata: ".encode() + body + b"\n\n"

    def __bytes__(self) -> bytes:
        return self._text


class Streams:
    """The open streams, at most `most` of them."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._open = 0

    async def send(self, request: web.Request, events: AsyncIterator[Event]) -> web.StreamResponse:
        """Send events until they end or the client disconnects. Raises Refused if the maximum number is open."""
        if self._open >= self._most:
            raise Refused(503, "TooMany", f"{self._most} streams are open already", {"Retry-After": "10"})
        self._open += 1
        try:
            return await send(request, events)
        finally:
            self._open -= 1


async def send(request: web.Request, events: AsyncIterator[Event]) -> web.StreamResponse:
    """Send events until they end or the client disconnects. Waits for a slow client."""
    response = web.StreamResponse(headers=_HEADERS)
    await response.prepare(request)
    await response.write(f"retry: {RETRY}\n\n".encode())
    upcoming: asyncio.Future[Event] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({upcoming}, timeout=HEARTBEAT)
            if not done:
                await _write(response, b": still here\n\n")
                continue
            try:
                event = upcoming.result()
            except StopAsyncIteration:
                break
            upcoming = None
            await _write(response, bytes(event))
    except (ConnectionError, TimeoutError):
        pass  # the client has disconnected
    finally:
        if upcoming is not None:
            upcoming.cancel()
            await asyncio.gather(upcoming, return_exceptions=True)
    return response


async def _write(response: web.StreamResponse, text: bytes) -> None:
    async with asyncio.timeout(STALLED):
        await response.write(text)
