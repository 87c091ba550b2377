"""The webhook's HTTP endpoint: paths, time limits, and size limits."""

import asyncio
import re
from collections.abc import Callable

from aiohttp import web

from bridge import tracing
from bridge.admission.review import MUTATING_PATH, VALIDATING_PATH, Review, ReviewError, Terms
from bridge.http.bodies import Bodies, is_verified
from bridge.http.request_guard import Refused

SMALL = 64 << 10  # bytes of each review that are not limited
MOST_LARGE = 96 << 20  # bytes beyond SMALL of all reviews in progress; of one client address half of it
LARGEST = 8 << 20  # bytes of a review: an update has two objects, of at most 3 MiB each in the API server
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}  # of Go's durations
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")
_LONGEST_DURATION = 64  # characters: searching a text for durations takes the square of its length
_SHARE = 0.9  # the bridge's share of the API server's timeout; the rest is for the response
_LONGEST_WAY = 0.5  # seconds


def make_app(review: Review, deadline: Callable[[], float]) -> web.Application:
    """Return an application that answers AdmissionReviews at MUTATING_PATH, and without patches at VALIDATING_PATH.

    `review` gets the body. Its budget is the rest of the request's `timeout`, which the API server puts into the query,
    or of `deadline` if that is shorter or there is none. It begins with the request, so a slow body leaves less.
    """
    bodies = Bodies(MOST_LARGE, SMALL, "review")

    async def admit(request: web.Request) -> web.Response:
        with tracing.span(f"POST {request.path}", kind="server", carrier=request.headers):
            return await answered(request)

    async def answered(request: web.Request) -> web.Response:
        began = asyncio.get_running_loop().time()
        if request.content_type != "application/json":
            return _refusal(415, f"the content type is {request.content_type}: send application/json")
        try:
            given = min(seconds(request.query["timeout"]) if "timeout" in request.query else deadline(), deadline())
            async with bodies.read(request, LARGEST, given) as body:
                left = began + time_for(given) - asyncio.get_running_loop().time()
                answer = await review(body, Terms(max(left, 0.0), is_verified(request), request.path == MUTATING_PATH))
        except (ReviewError, Refused) as error:
            return _refusal(error.status, str(error))
        return web.Response(body=answer, content_type="application/json")

    app = web.Application()
    for path in (MUTATING_PATH, VALIDATING_PATH):
        app.router.add_post(path, admit)  # another method gets a 405
    return app


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
