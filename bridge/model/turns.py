"""Waiting keys, each once, grouped by owner; owners take turns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

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

    def add(self, key: T) -> None:
        """Add a key; a waiting one keeps its place."""
        keys = self._waiting.setdefault(self._owner(key), OrderedDict())
        self._count += key not in keys
        keys[key] = None

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
