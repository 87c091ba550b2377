"""One source with a second reader, for what is read once and concerns two: a folder of manifests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from collections.abc import Set as AbstractSet

from bridge.model.changes import Change
from bridge.sources.base import Source


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
