"""Writes under way: a slow one delays its own namespace alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, nullcontext
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
WRITERS = 32  # writes at once
WRITERS_EACH = 4  # of one owner
SLOW = 1.0  # seconds: an owner whose last write took longer has one write at once


class Writers(Generic[T]):
    """Bounds the writes at once, in all and of each owner. A write waits from `begin` until it has both.

    An API server can take seconds for a write, for example where a tenant's admission webhook delays it, or because the
    object has thousands of fields. Such an object costs the API server so much processor time that all clients wait.
    """

    def __init__(self, owner: Callable[[T], str]) -> None:
        self._owner = owner
        self._under_way: set[T] = set()
        self._counts: Counter[str] = Counter()  # of `_under_way`, by owner
        self._all = asyncio.Semaphore(WRITERS)
        self._each: dict[str, asyncio.Semaphore] = {}  # of owners with writes under way
        self._slow: dict[str, asyncio.Lock] = {}  # of owners whose last write was slow

    def has_room_for(self, item: T) -> bool:
        """Return whether a write of this item could start now, as far as its owner's other writes go."""
        return item not in self._under_way and self._counts[self._owner(item)] < WRITERS_EACH

    def begin(self, item: T) -> None:
        """Count a write as under way; `writing` has to follow."""
        owner = self._owner(item)
        self._under_way.add(item)
        self._counts[owner] += 1
        self._each.setdefault(owner, asyncio.Semaphore(WRITERS_EACH))

    @asynccontextmanager
    async def writing(self, item: T) -> AsyncIterator[None]:
        """Wait until the write may start; it is over at the end of the context."""
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
