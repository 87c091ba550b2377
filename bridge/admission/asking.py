"""A question to OPA, asked again while that can help and there is time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bridge.opa.errors import OpaError, OpaRejected, OpaUnavailable

FIRST_WAIT = 0.05  # seconds before the second attempt; the waits double
LONGEST_WAIT = 1.0
_SHORTEST_ATTEMPT = 1.0  # seconds; what is left is not shared when it is less
_PASSING = {429, 502, 503, 504}  # back-pressure, and what stands before an OPA that is away

T = TypeVar("T")


class Undecided(Exception):
    """No answer that counts. `passing` says whether asking again can help; the text is for whoever made the request."""

    def __init__(self, text: str, *, passing: bool = False) -> None:
        super().__init__(text)
        self.passing = passing


async def insist(ask: Callable[[], Awaitable[T]], budget: float) -> T:
    """The answer of `ask`, which is called again after what passes (no answer, back-pressure) within `budget` seconds.

    An attempt may take half of what is left, so that a second one follows. A Retry-After is heeded. Raises Undecided.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + budget
    wait = FIRST_WAIT
    attempts = 0
    while True:
        left = until - clock()
        attempts += 1
        try:
            async with asyncio.timeout(left / 2 if left > 2 * _SHORTEST_ATTEMPT else left):
                return await ask()
        except TimeoutError:
            why = Undecided(f"OPA gave no answer in time (asked {attempts} times)", passing=True)
            after = 0.0
        except (OpaError, Undecided) as error:
            why, after = _explained(error)
        if not why.passing:
            raise why
        pause = max(after, wait * random.uniform(0.8, 1.2))  # noqa: S311 (spreads load)
        if clock() + pause >= until:
            raise why
        await asyncio.sleep(pause)
        wait = min(2 * wait, LONGEST_WAIT)


def _explained(error: OpaError | Undecided) -> tuple[Undecided, float]:
    match error:
        case Undecided():
            return error, 0.0
        case OpaRejected(status=401 | 403):
            return Undecided(f"OPA does not accept the bridge's token: {error}"), 0.0
        case OpaRejected():
            return Undecided(str(error), passing=error.status in _PASSING), error.retry_after
        case OpaUnavailable():
            return Undecided(str(error), passing=True), 0.0
        case _:
            return Undecided(str(error)), 0.0
