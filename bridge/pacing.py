"""Order and speed of the work: delays between attempts, permits per second, and turns. Times are in seconds."""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

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


T = TypeVar("T", bound=Hashable)


class Turns(Generic[T]):
    """Waiting keys: `take` returns one of each owner in turn, and the oldest key of an owner."""

    def __init__(self, owner: Callable[[T], str]) -> None:
        self._owner = owner
        self._waiting: OrderedDict[str, OrderedDict[T, None]] = OrderedDict()  # by owner, the next one first
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: T) -> bool:
        return key in self._waiting.get(self._owner(key), ())

    def add(self, key: T, *, first: bool = False) -> None:
        """Add a key; a waiting one keeps its place. With `first` it is its owner's next one."""
        keys = self._waiting.setdefault(self._owner(key), OrderedDict())
        self._count += key not in keys
        keys[key] = None
        if first:
            keys.move_to_end(key, last=False)

    def discard(self, key: T) -> None:
        """Remove a key."""
        owner = self._owner(key)
        keys = self._waiting.get(owner)
        if keys is not None and key in keys:
            del keys[key]
            self._count -= 1
            if not keys:
                del self._waiting[owner]

    def take(self, limit: int, fits: Callable[[T], bool] = lambda _: True) -> list[T]:
        """Remove and return up to `limit` keys that fit; an owner whose next key does not fit keeps its turn."""
        taken: list[T] = []
        passed: set[str] = set()
        while len(taken) < limit and len(passed) < len(self._waiting):
            owner = next(owner for owner in self._waiting if owner not in passed)
            keys = self._waiting[owner]
            key = next(iter(keys))
            if not fits(key):
                passed.add(owner)
                continue
            keys.popitem(last=False)
            self._count -= 1
            taken.append(key)
            if keys:
                self._waiting.move_to_end(owner)
            else:
                del self._waiting[owner]
        return taken

    def clear(self) -> None:
        """Remove all keys."""
        self._waiting.clear()
        self._count = 0
