"""Links of objects, asked of OPA: two queries at once, ahead of the write that needs them, never twice for the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple

import msgspec

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of, parse_key
from bridge.opa.client import Opa
from bridge.opa.errors import QueryError
from bridge.opa.parts import in_parts
from bridge.replicator.declared import Reading
from bridge.replicator.documents import Entries, entries_of

BATCH = 500  # objects a query
AT_ONCE = 2  # queries under way: OPA evaluates each on one core


class Links(NamedTuple):
    """The links of one object. `made_from` is a number for what they are made from; None: nobody can tell that.

    `entries` is None where they are the ones that were made from the same before.
    """

    made_from: int | None
    entries: Entries | None


Known = Callable[[Key], int | None]  # what the links that OPA has of an object were made from


def _nothing_known(_: Key) -> int | None:
    return None


class Linking:
    """Gives the index entries of objects.

    Those that were asked `ahead` are kept until they are fetched, and count only for the very object that was asked.
    """

    def __init__(self, opa: Opa) -> None:
        self._opa = opa
        self._ahead: dict[Key, tuple[Object, Links]] = {}
        self._reading: Reading | None = None  # None: OPA is to be asked

    async def of(self, objects: Mapping[Key, Object], known: Known = _nothing_known) -> dict[Key, Links]:
        """The links of each object. Raises OpaError."""
        while objects:
            reading = self._reading or await self._ask_what_is_read()
            try:
                return await self._of(objects, known, reading)
            except QueryError as error:
                if error.code != "OtherFields":
                    raise
            self._reading = None
            self._ahead.clear()
        return {}

    async def ahead(self, waiting: Mapping[Key, Object | None], known: Known = _nothing_known) -> bool:
        """Ask for a batch of what waits, where a whole one does (or several at once); False where there was none."""
        fresh = ((key, obj) for key, obj in waiting.items() if obj is not None and not self._has(key, obj))
        batch = dict(islice(fresh, AT_ONCE * BATCH))
        if len(batch) < BATCH:
            return False
        found = await self.of(batch, known)
        self._ahead.update({key: (obj, found[key]) for key, obj in batch.items()})
        return True

    def begin(self) -> None:
        """Ask anew what links are made from: other modules may be in force. Other rules always come with this."""
        self._reading = None
        self._ahead.clear()

    def forget(self) -> None:
        """Drop what was asked ahead and not fetched."""
        self._ahead.clear()

    def _has(self, key: Key, obj: Object) -> bool:
        known = self._ahead.get(key)
        return known is not None and known[0] is obj

    async def _ask_what_is_read(self) -> Reading:
        self._reading = Reading(await self._opa.query("links_read", {}))
        return self._reading

    async def _of(self, objects: Mapping[Key, Object], known: Known, reading: Reading) -> dict[Key, Links]:
        found: dict[Key, Links] = {}
        missing: list[tuple[Key, msgspec.Raw, int | None]] = []
        for key, obj in objects.items():
            asked = self._ahead.get(key)
            if asked and asked[0] is obj and (asked[1].entries is not None or asked[1].made_from == known(key)):
                found[key] = asked[1]
                continue
            declared = reading.of(obj)
            made_from = None if reading.fields is None else hash(bytes(declared))
            if made_from is not None and made_from == known(key):
                found[key] = Links(made_from, None)
            else:
                missing.append((key, declared, made_from))
        limit = asyncio.Semaphore(AT_ONCE)
        batches = [missing[start : start + BATCH] for start in range(0, len(missing), BATCH)]
        texts = [[declared for _, declared, _ in batch] for batch in batches]
        tasks = [asyncio.create_task(self._ask_within(limit, reading, batch)) for batch in texts]
        try:
            answers = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()  # one has failed: the answers of the others are of no use
        for batch, answer in zip(batches, answers, strict=True):
            found.update({key: Links(made_from, answer.get(key, [])) for key, _, made_from in batch})
        for key in objects:
            self._ahead.pop(key, None)
        return found

    async def _ask_within(
        self, limit: asyncio.Semaphore, reading: Reading, declared: list[msgspec.Raw]
    ) -> dict[Key, Entries]:
        async with limit:
            return await self._ask(reading, declared)

    async def _ask(self, reading: Reading, declared: list[msgspec.Raw]) -> dict[Key, Entries]:
        # One object whose links cannot be made must not keep the others out: it goes in without them.
        answers = await in_parts(self._opa, "links", "objects", declared, {"reads": reading.fields}, _named)
        return {parse_key(key): entries_of(raw) for _, answer in answers for key, raw in answer.items()}


def _named(declared: msgspec.Raw) -> str:
    return str(key_of(msgspec.json.decode(declared)))
