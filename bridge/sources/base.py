"""The interface of sources of objects; and one source with a second reader, for a folder of manifests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from collections.abc import Set as AbstractSet
from typing import Protocol

from bridge.model.changes import Change


class Source(Protocol):
    """Delivers the current state of types, and then changes.

    `want` may be called before and during the iteration of `changes`. The iterator does not end by itself, unless the
    source does not follow changes; it has one reader, and closing it stops the source.
    """

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver these types (`<group>/<Kind>`) from now on, and no others.

        A type that is no longer wanted gets an empty listing, which removes its objects.
        """

    def relist(self) -> None:
        """Deliver everything again, because the reader has lost its state. Unread changes may be omitted."""

    def changes(self) -> AsyncIterator[Change]:
        """Return the change stream (see `bridge.model.changes`)."""


class Tapped:
    """A `Source` that delivers the changes of `source`, and wants `types` too; each change goes through `tap` first."""

    def __init__(self, source: Source, types: AbstractSet[str], tap: Callable[[Change], None]) -> None:
        self._source = source
        self._types = types
        self._tap = tap

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver these types, and those of the tap."""
        self._source.want(frozenset(type_ids | self._types))

    def relist(self) -> None:
        """Deliver everything again, to both."""
        self._source.relist()

    async def changes(self) -> AsyncIterator[Change]:
        """Return the change stream of the source."""
        async for change in self._source.changes():
            self._tap(change)
            yield change
