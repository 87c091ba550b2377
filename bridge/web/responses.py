"""Responses: JSON, errors, and server-sent events.

Errors have the form of queries: `{"error": {"code", "message"}}` with a suitable status. Server-sent events (WHATWG
HTML, "Server-sent events") have a heartbeat and bounded queues.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from bridge.http.bodies import BODIES
from bridge.http.request_guard import Refused
from bridge.model.nesting import MAX_MESSAGE_DEPTH, NestingError, decode
from bridge.opa.errors import OpaError, OpaRejected, OpaUnavailable, OpaUndefined, QueryError
from bridge.queries.names import AmbiguousNameError, CommandError, NameNotFoundError

_OF_QUERIES = {"TargetNotFound": 404, "UnknownPolicyKind": 404}
_NO_STORE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
LONGEST_BODY = 30.0  # seconds
MOST_BODIES = 64 << 20  # bytes of all bodies at once beyond FREE of each; of one address half of it
FREE = 16 << 10
_COMPRESSED = 2048  # bytes of a response from which on it is compressed for clients that accept that


def answer(document: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return a JSON response that must not be cached."""
    body = msgspec.json.encode(document)
    response = web.Response(
        status=status, body=body, content_type="application/json", headers={**_NO_STORE, **(headers or {})}
    )
    if len(body) >= _COMPRESSED:
        response.enable_compression()
    return response


def refusal(error: Exception) -> web.Response | None:
    """Return the response to an error; None for an unexpected one."""
    match error:
        case Refused():
            return _error(error.status, error.code, str(error), error.headers)
        case QueryError():
            return _error(_OF_QUERIES.get(error.code, 400), error.code, str(error))
        case NameNotFoundError():
            return _error(404, "NotFound", str(error))
        case AmbiguousNameError():
            return _error(400, "Ambiguous", str(error))
        case CommandError():
            return _error(400, "InvalidInput", str(error))
        case OpaUnavailable() | OpaUndefined():
            return _error(503, "NotReady", str(error), {"Retry-After": "1"})
        case OpaRejected():
            return _error(502, "Failed", str(error))
        case OpaError():
            return _error(502, "Failed", str(error))
        case RecursionError():
            return _error(502, "Failed", "the answer is nested too deeply")
    return None


def _error(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return answer({"error": {"code": code, "message": message}}, status=status, headers=headers)


def body_of(request: web.Request, most: int) -> contextlib.AbstractAsyncContextManager[bytes]:
    """Return a context with the body of a request, up to a maximum size, within LONGEST_BODY seconds.

    Entering it raises Refused.
    """
    return request.app[BODIES].read(request, most, LONGEST_BODY)


def decoded(content: bytes) -> dict[str, Any]:
    """Return a body as a JSON object, empty for none. Raises Refused."""
    try:
        found: Any = decode(content, most=MAX_MESSAGE_DEPTH) if content.strip() else {}
    except NestingError as error:
        raise Refused(400, "InvalidInput", f"the body is too deep: {error}") from error
    except msgspec.DecodeError as error:
        raise Refused(400, "InvalidInput", f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(400, "InvalidInput", "the body is not a JSON object")
    return found


HEARTBEAT = 15.0  # seconds without events after which something is sent, so no proxy closes the stream
CHECKED = 15.0  # seconds between two checks whether the client may still read
MOST_STREAMS = 800  # fewer than the connections of one address: OPA and probes may share it with a proxy of the page
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
    """Send events until they end, the client disconnects, or `allows` is false.

    Waits for a slow client; the gate of the listener disconnects one that reads nothing.
    """
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
                await response.write(heartbeat)
                continue
            try:
                event = upcoming.result()
            except StopAsyncIteration:
                break
            upcoming = None
            await response.write(bytes(event))
    except ConnectionError:
        pass  # the client has disconnected
    finally:
        if upcoming is not None:
            upcoming.cancel()
            await asyncio.gather(upcoming, return_exceptions=True)
    return response
