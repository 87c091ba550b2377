"""The webhook's HTTP: what comes in, how long it may take, and how large it may be."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import web

from bridge.admission.review import ReviewError

PATH = "/admission"
MOST_HELD = 128 << 20  # bytes of all reviews that are judged at once
LARGEST = 8 << 20  # bytes of a review: an update holds two objects, of at most 3 MiB each in the API server
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}  # of Go's durations
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")
_SHARE = 0.9  # of the time that the API server waits is ours; the rest is for the way back
_LONGEST_WAY = 0.5  # seconds

Review = Callable[[bytes, float], Awaitable[bytes]]


def make_app(review: Review, deadline: float) -> web.Application:
    """An application that answers AdmissionReviews at PATH.

    `review` gets the body and the seconds that it may take: what is left of the request's own `timeout`, which the API
    server puts into the query, or of `deadline` where that is shorter or there is none.
    """
    bodies = _Bodies()

    async def admit(request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            return _refusal(415, f"the content type is {request.content_type}: send application/json")
        try:
            async with bodies.read(request, deadline) as body:
                return await judged(request, body)
        except ReviewError as error:
            return _refusal(error.status, str(error))

    async def judged(request: web.Request, body: bytes) -> web.Response:
        try:
            given = seconds(request.query["timeout"]) if "timeout" in request.query else deadline
            answer = await review(body, time_for(min(given, deadline)))
        except RecursionError as error:
            raise ReviewError(400, "the review is nested too deeply") from error
        return web.Response(body=answer, content_type="application/json")

    app = web.Application(client_max_size=LARGEST)
    app.router.add_post(PATH, admit)  # another method gets a 405
    return app


class _Bodies:
    """Bodies of requests, of which only so much is in memory at once, however many there are."""

    def __init__(self) -> None:
        self._held = 0

    @contextlib.asynccontextmanager
    async def read(self, request: web.Request, patience: float) -> AsyncIterator[bytes]:
        """The body of a request, which counts until the block ends. `patience` is in seconds. Raises ReviewError."""
        size = 0
        try:
            body = b""
            async for part in self._parts(request, patience):
                size += len(part)
                self._held += len(part)
                if size > LARGEST:
                    raise ReviewError(413, f"the review is larger than {LARGEST} bytes")
                if self._held > MOST_HELD:
                    raise ReviewError(429, f"more than {MOST_HELD >> 20} MiB of reviews wait for an answer")
                body += part
            yield body
        finally:
            self._held -= size

    @staticmethod
    async def _parts(request: web.Request, patience: float) -> AsyncIterator[bytes]:
        until = asyncio.get_running_loop().time() + patience
        while True:
            try:
                async with asyncio.timeout_at(until):
                    part = await request.content.readany()
            except TimeoutError as error:
                raise ReviewError(408, f"the review did not come within {patience:g} s") from error
            except web.RequestPayloadError as error:
                raise ReviewError(400, "a part of the review is missing, or not encoded as its headers say") from error
            if not part:
                return
            yield part


def seconds(text: str) -> float:
    """A duration as Go writes it (`10s`, `1m30s`) in seconds. Raises ReviewError for what is none."""
    found = _DURATION.findall(text)
    if not found or "".join(number + unit for number, unit in found) != text:
        raise ReviewError(400, f"timeout={text} is no duration such as 10s")
    return sum(float(number) * _UNITS[unit] for number, unit in found)


def time_for(given: float) -> float:
    """The seconds that may be spent on an answer that somebody waits for `given` seconds."""
    return max(given * _SHARE, given - _LONGEST_WAY)


def _refusal(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n")
