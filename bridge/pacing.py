"""The speed of the bridge's work: delays between attempts, and permits per second. All times are in seconds."""

from __future__ import annotations

import asyncio
import random

from tenacity import AsyncRetrying, RetryCallState, wait_exponential

_RETRYING = AsyncRetrying()


def delay_after(failures: int, first: float, longest: float) -> float:
    """Return the delay after this number of failures in a row (at least 1): it doubles from `first` up to `longest`."""
    state = RetryCallState(_RETRYING, None, (), {})
    state.attempt_number = failures
    return min(longest, wait_exponential(multiplier=first, max=longest)(state))


class Backoff:
    """Delays between attempts: they double from `first` up to `longest`, until `reset`.

    Each is multiplied by a random factor within `spread`, so many clients do not try at the same moment.
    """

    def __init__(self, first: float, longest: float, *, spread: tuple[float, float] = (1.0, 1.0)) -> None:
        self._first = first
        self._longest = longest
        self._spread = spread
        self._failures = 0

    def reset(self) -> None:
        """Start with the first delay again after a success."""
        self._failures = 0

    def next(self) -> float:
        """Count a failure and return the delay after it."""
        self._failures += 1
        factor = random.uniform(*self._spread)  # noqa: S311 (spreads load, keeps no secret)
        return delay_after(self._failures, self._first, self._longest) * factor

    async def wait(self) -> None:
        """Count a failure and wait."""
        await asyncio.sleep(self.next())


class Budget:
    """At most `rate` permits a second over time, and `burst` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._left = float(burst)
        self._since: float | None = None

    def change(self, rate: float) -> None:
        """Use another rate from now on."""
        self._rate = rate

    def soon(self, seconds: float) -> int:
        """Return the number of permits within `seconds`, at least 1."""
        loop = asyncio.get_running_loop()
        since = loop.time() if self._since is None else self._since
        return max(1, int(min(self._burst, self._left + (loop.time() + seconds - since) * self._rate)))

    async def spend(self) -> None:
        """Take one permit; wait until there is one."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._since is not None:
            self._left = min(self._burst, self._left + (now - self._since) * self._rate)
        self._since = now
        self._left -= 1
        if self._left < 0:
            await asyncio.sleep(-self._left / self._rate)
