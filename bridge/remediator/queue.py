"""A queue of keys: each waits once, failures wait longer each time, and a budget bounds what leaves a second."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
FIRST_DELAY = 0.1  # seconds before a second try
LONGEST_DELAY = 30.0  # seconds; the delay doubles up to here


class RetryQueue(Generic[T]):
    """Keys to work on, in the order in which they were due."""

    def __init__(self) -> None:
        self._due: dict[T, None] = {}
        self._later: list[tuple[float, int, T]] = []
        self._ticket: dict[T, int] = {}  # of those that wait longer, which entry of `_later` counts
        self._order = itertools.count()
        self._failures: dict[T, int] = {}
        self._added = asyncio.Event()
        self.results: Counter[str] = Counter()  # what became of work on a key, as who did it says

    def __len__(self) -> int:
        return len(self._due) + len(self._ticket)

    def add(self, keys: Iterable[T]) -> None:
        """Work on these as soon as possible; what waits already waits once."""
        for key in keys:
            self._due[key] = None
            self._ticket.pop(key, None)
        if self._due:
            self._added.set()

    def failed(self, key: T) -> None:
        """Work on this again, later each time, unless it was added meanwhile."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        if key in self._due:
            return
        delay = LONGEST_DELAY if count > 20 else min(FIRST_DELAY * 2.0 ** (count - 1), LONGEST_DELAY)
        ticket = self._ticket[key] = next(self._order)
        heapq.heappush(self._later, (asyncio.get_running_loop().time() + delay, ticket, key))
        self._added.set()

    def succeeded(self, key: T) -> None:
        """The next failure of this one is its first again."""
        self._failures.pop(key, None)

    async def take(self, limit: int) -> list[T]:
        """Up to `limit` keys that are due; waits for the first."""
        while True:
            now = asyncio.get_running_loop().time()
            while self._later and self._later[0][0] <= now:
                _, ticket, key = heapq.heappop(self._later)
                if self._ticket.get(key) == ticket:
                    del self._ticket[key]
                    self._due[key] = None
            if self._due:
                taken = list(itertools.islice(self._due, limit))
                for key in taken:
                    del self._due[key]
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
