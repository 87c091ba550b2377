"""Links of objects, asked of OPA: two queries at once, and ahead of the write that needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import islice

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of, parse_key
from bridge.opa.client import Opa
from bridge.opa.parts import in_parts
from bridge.replicator.documents import Entries, entries_of

BATCH = 500  # objects a query
AT_ONCE = 2  # queries under way: OPA evaluates each on one core


class Linking:
    """Gives the index entries of objects.

    Those that were asked `ahead` are kept until they are fetched, and count only for the very object that was asked.
    """

    def __init__(self, opa: Opa) -> None:
        self._opa = opa
        self._ahead: dict[Key, tuple[Object, Entries]] = {}

    async def of(self, objects: Mapping[Key, Object]) -> dict[Key, Entries]:
        """The entries of each object that has any. Raises OpaError."""
        found: dict[Key, Entries] = {}
        missing: list[Object] = []
        for key, obj in objects.items():
            asked, entries = self._ahead.pop(key, (None, []))
            if asked is obj:
                found[key] = entries
            else:
                missing.append(obj)
        limit = asyncio.Semaphore(AT_ONCE)
        batches = [missing[start : start + BATCH] for start in range(0, len(missing), BATCH)]
        tasks = [asyncio.create_task(self._ask_within(limit, batch)) for batch in batches]
        try:
            for answer in await asyncio.gather(*tasks):
                found.update(answer)
        finally:
            for task in tasks:
                task.cancel()  # one has failed: the answers of the others are of no use
        return found

    async def ahead(self, waiting: Mapping[Key, Object | None]) -> bool:
        """Ask for a batch of what waits, where a whole one does (or several at once); False where there was none."""
        fresh = ((key, obj) for key, obj in waiting.items() if obj is not None and not self._has(key, obj))
        batch = dict(islice(fresh, AT_ONCE * BATCH))
        if len(batch) < BATCH:
            return False
        found = await self.of(batch)
        self._ahead.update({key: (obj, found.get(key, [])) for key, obj in batch.items()})
        return True

    def forget(self) -> None:
        """Drop what was asked ahead and not fetched."""
        self._ahead.clear()

    def _has(self, key: Key, obj: Object) -> bool:
        known = self._ahead.get(key)
        return known is not None and known[0] is obj

    async def _ask_within(self, limit: asyncio.Semaphore, objects: list[Object]) -> dict[Key, Entries]:
        async with limit:
            return await self._ask(objects)

    async def _ask(self, objects: list[Object]) -> dict[Key, Entries]:
        # What an object reports is no part of what it declares, and often the larger part.
        declared = [{name: value for name, value in obj.items() if name != "status"} for obj in objects]
        # One object whose links cannot be made must not keep the others out: it goes in without them.
        answers = await in_parts(self._opa, "links", "objects", declared, {}, lambda obj: str(key_of(obj)))
        return {parse_key(key): entries_of(raw) for _, answer in answers for key, raw in answer.items()}
