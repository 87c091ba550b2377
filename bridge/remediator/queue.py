"""A queue of keys in which owners take turns and failures wait longer each time; a budget that bounds writes."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from bridge.model.turns import Turns

T = TypeVar("T", bound=Hashable)
FIRST_DELAY = 0.1  # seconds before a second try
LONGEST_DELAY = 30.0  # seconds; the delay doubles up to here


def delay_of(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row."""
    return LONGEST_DELAY if failures > 20 else min(FIRST_DELAY * 2.0 ** (failures - 1), LONGEST_DELAY)


class RetryQueue(Generic[T]):
    """Keys to work on. Each `owner` has its turn, and of an owner the key that was due first.

    So an owner with many keys delays its own alone. Without `owner` all keys have the same one.
    """

    def __init__(self, owner: Callable[[T], str] = lambda _: "") -> None:
        self._due: Turns[T] = Turns(owner)
        self._later: list[tuple[float, int, T]] = []
        self._ticket: dict[T, int] = {}  # of those that wait longer, which entry of `_later` counts
        self._order = itertools.count()
        self._failures: dict[T, int] = {}
        self._added = asyncio.Event()
        self.results: Counter[str] = Counter()  # what became of work on a key, as who did it says

    def __len__(self) -> int:
        return len(self._due) + len(self._ticket)

    def __contains__(self, key: T) -> bool:
        return key in self._due or key in self._ticket

    def add(self, keys: Iterable[T]) -> None:
        """Work on these as soon as possible; what waits already waits once."""
        for key in keys:
            self._due.add(key)
            self._ticket.pop(key, None)
        if self._due:
            self._added.set()

    def failed(self, key: T) -> None:
        """Work on this again, later each time, unless it was added meanwhile."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        if key in self._due:
            return
        delay = delay_of(count)
        ticket = self._ticket[key] = next(self._order)
        heapq.heappush(self._later, (asyncio.get_running_loop().time() + delay, ticket, key))
        self._added.set()

    def succeeded(self, key: T) -> None:
        """The next failure of this one is its first again."""
        self._failures.pop(key, None)

    def look_again(self) -> None:
        """Have a `take` that waits check again which keys fit."""
        self._added.set()

    async def take(self, limit: int, fits: Callable[[T], bool] = lambda _: True) -> list[T]:
        """Return up to `limit` keys that are due and fit; wait for the first."""
        while True:
            now = asyncio.get_running_loop().time()
            while self._later and self._later[0][0] <= now:
                _, ticket, key = heapq.heappop(self._later)
                if self._ticket.get(key) == ticket:
                    del self._ticket[key]
                    self._due.add(key)
            if taken := self._due.take(limit, fits):
                return taken
            self._added.clear()
            wait = self._later[0][0] - now if self._later else None
            try:
                async with asyncio.timeout(wait):
                    await self._added.wait()
            except TimeoutError:
                continue


class Budget:
    """At most `rate` permits a second over time, and `burst` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._left = float(burst)
        self._since: float | None = None

    def change(self, rate: float) -> None:
        """Bound by another rate from now on."""
        self._rate = rate

    def soon(self, seconds: float) -> int:
        """Return how many permits there are within `seconds`, at least 1."""
        loop = asyncio.get_running_loop()
        since = loop.time() if self._since is None else self._since
        return max(1, int(min(self._burst, self._left + (loop.time() + seconds - since) * self._rate)))

    async def spend(self) -> None:
        """Take one permit; waits until there is one."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._since is not None:
            self._left = min(self._burst, self._left + (now - self._since) * self._rate)
        self._since = now
        self._left -= 1
        if self._left < 0:
            await asyncio.sleep(-self._left / self._rate)
