"""The changes since a revision, within a limit."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Iterable
from typing import Literal

Changed = tuple[Literal["node", "policy"], str]
REMEMBERED = 5_000  # keys; a client that has missed more starts again


class Journal:
    """Numbers changes, and remembers the keys of the last of them.

    A revision's name has an epoch, which changes with a restart.
    """

    def __init__(self) -> None:
        self.revision = 0
        self._epoch = secrets.token_hex(4)
        self._oldest = 0  # changes since then are remembered
        self._entries: deque[tuple[int, frozenset[Changed]]] = deque()
        self._size = 0
        self._changed = asyncio.Event()

    def name(self, revision: int | None = None) -> str:
        """Return a revision (default: the current one) in the form for clients."""
        return f"{self._epoch}-{self.revision if revision is None else revision}"

    def number(self, name: str) -> int | None:
        """Return the revision of a name, None for one of another epoch."""
        epoch, _, number = name.partition("-")
        return int(number) if epoch == self._epoch and number.isdigit() and int(number) <= self.revision else None

    def add(self, keys: Iterable[Changed]) -> None:
        """Note that these have changed, in one revision."""
        found = frozenset(keys)
        self.revision += 1
        self._entries.append((self.revision, found))
        self._size += len(found)
        while self._size > REMEMBERED:
            self._oldest, gone = self._entries.popleft()
            self._size -= len(gone)
        self._tell()

    def forget(self) -> None:
        """Note that everything may have changed."""
        self.revision += 1
        self._entries.clear()
        self._size = 0
        self._oldest = self.revision
        self._tell()

    def since(self, revision: int) -> set[Changed] | None:
        """Return the changes after a revision; None if they are not remembered."""
        if revision < self._oldest:
            return None
        found: set[Changed] = set()
        return found.union(*(keys for number, keys in self._entries if number > revision))

    async def after(self, revision: int) -> None:
        """Wait until there is a later one."""
        while self.revision <= revision:
            await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
