"""What every source of objects is; and one source with a second reader, for a folder of manifests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from collections.abc import Set as AbstractSet
from typing import Protocol

from bridge.model.changes import Change


class Source(Protocol):
    """Tells the present state of types, and then what changes.

    `want` may be called before and while `changes` is iterated. The iterator does not end by itself, unless the source
    does not follow changes; it is iterated by one reader, and closing it ends what the source has running.
    """

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver these types (`<group>/<Kind>`) from now on, and no others.

        A type that is no longer wanted gets an empty listing, which removes what it delivered.
        """

    def relist(self) -> None:
        """Tell everything anew: whoever listens has lost what was told. What nobody has read yet may be left out."""

    def changes(self) -> AsyncIterator[Change]:
        """The change stream (see `bridge.model.changes`)."""


class Tapped:
    """A `Source` that delivers what `source` does, and wants `types` too; each change goes through `tap` first."""

    def __init__(self, source: Source, types: AbstractSet[str], tap: Callable[[Change], None]) -> None:
        self._source = source
        self._types = types
        self._tap = tap

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver these types, and those of the tap."""
        self._source.want(frozenset(type_ids | self._types))

    def relist(self) -> None:
        """Tell everything anew, to both."""
        self._source.relist()

    async def changes(self) -> AsyncIterator[Change]:
        """The change stream of the source."""
        async for change in self._source.changes():
            self._tap(change)
            yield change
