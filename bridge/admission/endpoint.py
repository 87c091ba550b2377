"""The webhook's HTTP endpoint: paths, time limits, and size limits."""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from bridge import tracing
from bridge.admission.review import ReviewError

MUTATING_PATH = "/admission"
VALIDATING_PATH = "/validation"
SMALL = 64 << 10  # bytes of each review that are not limited
MOST_LARGE = 96 << 20  # bytes beyond SMALL of all reviews in progress
MOST_LARGE_OF_PEER = MOST_LARGE // 2  # the same for one client address
LARGEST = 8 << 20  # bytes of a review: an update has two objects, of at most 3 MiB each in the API server
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}  # of Go's durations
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")
_LONGEST_DURATION = 64  # characters: searching a text for durations takes the square of its length
_SHARE = 0.9  # the bridge's share of the API server's timeout; the rest is for the response
_LONGEST_WAY = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of a review: its `budget` in seconds, a `verified` client certificate, and whether it has `patches`."""

    budget: float
    verified: bool = False
    patches: bool = True


Review = Callable[[bytes, Terms], Awaitable[bytes]]


def make_app(review: Review, deadline: Callable[[], float]) -> web.Application:
    """Return an application that answers AdmissionReviews at MUTATING_PATH, and without patches at VALIDATING_PATH.

    `review` gets the body. Its budget is the rest of the request's `timeout`, which the API server puts into the query,
    or of `deadline` if that is shorter or there is none. It begins with the request, so a slow body leaves less.
    """
    bodies = _Bodies()

    async def admit(request: web.Request) -> web.Response:
        with tracing.span(f"POST {request.path}", kind="server", carrier=request.headers):
            return await answered(request)

    async def answered(request: web.Request) -> web.Response:
        began = asyncio.get_running_loop().time()
        if request.content_type != "application/json":
            return _refusal(415, f"the content type is {request.content_type}: send application/json")
        try:
            given = min(seconds(request.query["timeout"]) if "timeout" in request.query else deadline(), deadline())
            async with bodies.read(request, began, given) as body:
                left = began + time_for(given) - asyncio.get_running_loop().time()
                answer = await review(body, Terms(max(left, 0.0), is_verified(request), request.path == MUTATING_PATH))
        except ReviewError as error:
            return _refusal(error.status, str(error))
        return web.Response(body=answer, content_type="application/json")

    app = web.Application(client_max_size=LARGEST)
    for path in (MUTATING_PATH, VALIDATING_PATH):
        app.router.add_post(path, admit)  # another method gets a 405
    return app


def is_verified(request: web.Request) -> bool:
    """Return whether the client has a certificate, which TLS has verified."""
    return bool(request.get_extra_info("peercert"))


class _Bodies:
    """Bodies of requests, with a limit on their memory.

    The first SMALL bytes of each are not limited, because the number of connections is. The rest is limited by
    MOST_LARGE, and for clients without a certificate by MOST_LARGE_OF_PEER, so large reviews never block small ones.
    """

    def __init__(self) -> None:
        self._held = 0
        self._held_of: Counter[str] = Counter()

    @contextlib.asynccontextmanager
    async def read(self, request: web.Request, began: float, patience: float) -> AsyncIterator[bytes]:
        """Yield the body of a request, which counts until the block ends, within `patience` seconds.

        Raises ReviewError.
        """
        if (request.content_length or 0) > LARGEST:
            raise ReviewError(413, f"the review is larger than {LARGEST} bytes")
        peer = "" if is_verified(request) else request.remote or ""
        size = counted = 0
        parts = []
        try:
            async for part in self._parts(request, began + patience, patience):
                size += len(part)
                beyond = max(size - SMALL, 0) - counted
                counted += beyond
                self._held += beyond
                self._held_of[peer] += beyond
                if size > LARGEST:
                    raise ReviewError(413, f"the review is larger than {LARGEST} bytes")
                if counted and (self._held > MOST_LARGE or (peer and self._held_of[peer] > MOST_LARGE_OF_PEER)):
                    raise ReviewError(429, f"too many reviews of more than {SMALL >> 10} KiB wait for an answer")
                parts.append(part)
            yield b"".join(parts)
        finally:
            self._held -= counted
            self._held_of[peer] -= counted
            if not self._held_of[peer]:
                del self._held_of[peer]

    @staticmethod
    async def _parts(request: web.Request, until: float, patience: float) -> AsyncIterator[bytes]:
        while True:
            try:
                async with asyncio.timeout_at(until):
                    part = await request.content.readany()
            except TimeoutError as error:
                raise ReviewError(408, f"the review did not arrive within {patience:g} s") from error
            except web.RequestPayloadError as error:
                raise ReviewError(400, "the review is incomplete, or its encoding differs from its headers") from error
            if not part:
                return
            yield part


def seconds(text: str) -> float:
    """Return the seconds of a duration in Go's form (`10s`, `1m30s`). Raises ReviewError for an invalid one."""
    if len(text) > _LONGEST_DURATION:
        raise ReviewError(400, f"the timeout has {len(text)} characters: {_LONGEST_DURATION} is the most")
    found = _DURATION.findall(text)
    if not found or "".join(number + unit for number, unit in found) != text:
        raise ReviewError(400, f"timeout={text} is not a duration such as 10s")
    return sum(float(number) * _UNITS[unit] for number, unit in found)


def time_for(given: float) -> float:
    """Return the seconds for a response if the client waits `given` seconds."""
    return max(given * _SHARE, given - _LONGEST_WAY)


def _refusal(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n")
