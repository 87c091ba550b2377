"""Server-sent events (WHATWG HTML, "Server-sent events"), with a heartbeat and bounded queues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from aiohttp import web

from bridge.http.request_guard import Refused

HEARTBEAT = 15.0  # seconds without events after which something is sent, so no proxy closes the stream
CHECKED = 15.0  # seconds between two checks whether the client may still read
STALLED = 60.0  # seconds after which a client that reads nothing is disconnected
MOST_STREAMS = 1_000
RETRY = 1000  # milliseconds that a client waits before it connects again
_COMMENT = b": still here\n\n"
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
    """The open streams, at most `most` of them. `allows` returns whether the token of a request is still valid."""

    def __init__(self, most: int = MOST_STREAMS, allows: Callable[[web.Request], bool] = lambda _: True) -> None:
        self._most = most
        self._allows = allows
        self._open = 0

    async def send(
        self, request: web.Request, events: AsyncIterator[Event], heartbeat: Event | None = None
    ) -> web.StreamResponse:
        """Send events until they end, the client disconnects, or its token is not valid anymore.

        `heartbeat` is sent while there are no events; without one it is a comment, which browsers hide from pages.
        Raises Refused if the maximum number of streams is open.
        """
        if self._open >= self._most:
            raise Refused(503, "TooMany", f"{self._most} streams are already open", {"Retry-After": "10"})
        self._open += 1
        try:
            return await send(request, events, bytes(heartbeat) if heartbeat else _COMMENT, self._allows)
        finally:
            self._open -= 1


async def send(
    request: web.Request,
    events: AsyncIterator[Event],
    heartbeat: bytes = _COMMENT,
    allows: Callable[[web.Request], bool] = lambda _: True,
) -> web.StreamResponse:
    """Send events until they end, the client disconnects, or `allows` is false. Waits for a slow client."""
    response = web.StreamResponse(headers=_HEADERS)
    await response.prepare(request)
    await response.write(f"retry: {RETRY}\n\n".encode())
    upcoming: asyncio.Future[Event] | None = None
    clock = asyncio.get_running_loop().time
    due = clock() + CHECKED
    try:
        while True:
            if clock() >= due:
                if not allows(request):
                    break
                due = clock() + CHECKED
            upcoming = upcoming or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({upcoming}, timeout=HEARTBEAT)
            if not done:
                await _write(response, heartbeat)
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
