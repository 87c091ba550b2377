"""What every source of objects is."""

from __future__ import annotations

from collections.abc import AsyncIterator
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
