"""A source of given objects that do not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.model.changes import Change, Listed, Listing, Object, Upserted
from bridge.model.keys import key_of
from bridge.model.types import DESCRIBING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from collections.abc import Set as AbstractSet


class FixedSource:
    """A `Source` that delivers these objects once, those that describe policy kinds first.

    Their defaults are set, and their fields that OPA must not have are removed, as in objects from an OPA.
    """

    def __init__(self, objects: Iterable[Object]) -> None:
        self._objects: dict[str, list[Object]] = {}
        for obj in objects:
            self._objects.setdefault(key_of(obj).type_id, []).append(obj)

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Also deliver an empty list for each of these types without objects, so that no reader waits for it."""
        for type_id in type_ids:
            self._objects.setdefault(type_id, [])

    def relist(self) -> None:
        """Do nothing: everything is delivered once, and its reader keeps it."""

    async def changes(self) -> AsyncIterator[Change]:
        """Yield all objects, type by type."""
        for type_id in sorted(self._objects, key=lambda name: (name not in DESCRIBING, name)):
            yield Listing(type_id)
            if objects := self._objects[type_id]:
                yield Upserted(type_id, tuple(objects))
            yield Listed(type_id)
