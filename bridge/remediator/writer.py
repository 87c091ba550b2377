"""Writes of the remediator: a queue in which owners take turns, and the writes in progress."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterable
from contextlib import asynccontextmanager, nullcontext
from typing import Any, Generic, TypeVar

import structlog

from bridge.model.keys import parse_key
from bridge.model.turns import Turns
from bridge.pacing import delay_after
from bridge.remediator.sink import Gone, StatusSink, WriteConflict, WriteRefused

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=Hashable)
FIRST_DELAY = 0.1  # seconds before a second try
LONGEST_DELAY = 30.0  # seconds; the delay doubles up to here


class RetryQueue(Generic[T]):
    """Waiting keys. Each `owner` takes turns, with its oldest due key first.

    An owner with many keys delays only its own. Without `owner` all keys have the same one.
    """

    def __init__(self, owner: Callable[[T], str] = lambda _: "") -> None:
        self._due: Turns[T] = Turns(owner)
        self._later: list[tuple[float, int, T]] = []
        self._ticket: dict[T, int] = {}  # of keys with a longer wait, the entry of `_later` that counts
        self._order = itertools.count()
        self._failures: dict[T, int] = {}
        self._added = asyncio.Event()
        self.results: Counter[str] = Counter()  # results of work, as the worker reports them

    def __len__(self) -> int:
        return len(self._due) + len(self._ticket)

    def __contains__(self, key: T) -> bool:
        return key in self._due or key in self._ticket

    def add(self, keys: Iterable[T]) -> None:
        """Add keys for work as soon as possible; a waiting key stays once."""
        for key in keys:
            self._due.add(key)
            self._ticket.pop(key, None)
        if self._due:
            self._added.set()

    def failed(self, key: T) -> None:
        """Retry this key later, with growing delays, unless it was added meanwhile."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        if key in self._due:
            return
        delay = delay_after(count, FIRST_DELAY, LONGEST_DELAY)
        ticket = self._ticket[key] = next(self._order)
        heapq.heappush(self._later, (asyncio.get_running_loop().time() + delay, ticket, key))
        self._added.set()

    def succeeded(self, key: T) -> None:
        """Reset the delay of this key."""
        self._failures.pop(key, None)

    def look_again(self) -> None:
        """Make a waiting `take` check again which keys fit."""
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


RESULTS = ("written", "conflict", "gone", "refused")  # of a write, as counted in its queue's `results`


async def write_one(
    sink: StatusSink,
    queue: RetryQueue[T],
    item: T,
    planned: tuple[str, dict[str, Any], str],
    refused: Callable[[str, str], None] | None = None,
) -> bool:
    """Write a patch, and report the result of `item` to the queue.

    `planned` is the object's key, the patch, and the resourceVersion that it was computed from; `refused` is called
    with the key and the reason of a write that the API server rejects (by default it is logged).

    Returns:
        Whether it was written. A deleted object counts as done, but not as written.
    """
    key, patch, version = planned
    try:
        await sink.write(parse_key(key), patch, version)
    except Gone:
        queue.results["gone"] += 1
        queue.succeeded(item)
    except WriteConflict:
        queue.results["conflict"] += 1
        queue.failed(item)
    except WriteRefused as error:
        queue.results["refused"] += 1
        queue.failed(item)
        (refused or _log_refused)(key, str(error))
    else:
        queue.results["written"] += 1
        queue.succeeded(item)
        return True
    return False


def _log_refused(key: str, why: str) -> None:
    log.warning("status cannot be written", object=key, why=why)


WRITERS = 32  # writes at once
WRITERS_EACH = 4  # of one owner
SLOW = 1.0  # seconds: an owner whose last write took longer has one write at once


class Writers(Generic[T]):
    """Bounds the parallel writes, in total and of each owner. A write waits from `begin` until both allow it.

    An API server can take seconds for a write, for example if a tenant's admission webhook delays it, or because the
    object has thousands of fields. Such an object costs the API server so much processor time that all clients wait.
    """

    def __init__(self, owner: Callable[[T], str]) -> None:
        self._owner = owner
        self._under_way: set[T] = set()
        self._counts: Counter[str] = Counter()  # of `_under_way`, by owner
        self._all = asyncio.Semaphore(WRITERS)
        self._each: dict[str, asyncio.Semaphore] = {}  # of owners with writes in progress
        self._slow: dict[str, asyncio.Lock] = {}  # of owners whose last write was slow

    def has_room_for(self, item: T) -> bool:
        """Return whether a write of this item could start now, considering its owner's other writes."""
        return item not in self._under_way and self._counts[self._owner(item)] < WRITERS_EACH

    def begin(self, item: T) -> None:
        """Count a write as in progress; `writing` must follow."""
        owner = self._owner(item)
        self._under_way.add(item)
        self._counts[owner] += 1
        self._each.setdefault(owner, asyncio.Semaphore(WRITERS_EACH))

    @asynccontextmanager
    async def writing(self, item: T) -> AsyncIterator[None]:
        """Wait until the write may start; it ends with the context."""
        owner = self._owner(item)
        try:
            async with self._each[owner], self._slow.get(owner) or nullcontext(), self._all:
                began = asyncio.get_running_loop().time()
                yield
                if asyncio.get_running_loop().time() - began > SLOW:
                    self._slow.setdefault(owner, asyncio.Lock())
                else:
                    self._slow.pop(owner, None)
        finally:
            self._under_way.discard(item)
            self._counts[owner] -= 1
            if not self._counts[owner]:
                del self._counts[owner], self._each[owner]
