"""A source of objects that a test controls, for a replicator and a remediator on a real OPA."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from bridge.model.changes import Change, Deleted, Listed, Listing, Notice, Object, Upserted
from bridge.model.keys import Key, key_of
from bridge.remediator.plan import patched
from bridge.remediator.write_loop import Gone, MemorySink, Patch, WriteConflict, WriteRefused
from bridge.replicator.replicator import Replicator
from tests.builders import config_map

BARRIER = "core/ConfigMap"  # a type that no rule reads: an object of it marks a place in the stream


class ScriptedSource:
    """Delivers `objects` as a cluster would, with a resourceVersion for each state.

    With `silent` types no listing is reported until `tell`; with `versions` False objects have none, as in manifests.
    Versions begin after `begin`; objects that have one keep it.
    """

    def __init__(
        self, objects: Iterable[Object] = (), *, silent: Iterable[str] = (), versions: bool = True, begin: int = 0
    ) -> None:
        self.objects: dict[Key, Object] = {}
        self.wanted: frozenset[str] = frozenset()
        self.wants: list[frozenset[str]] = []  # what was wanted, each time
        self.relisted = 0
        self._versions = versions
        self._silent = set(silent)
        self.version = begin
        self._queue: asyncio.Queue[Change] = asyncio.Queue()
        for obj in objects:
            if begin:
                self.objects[key_of(obj)] = obj
            else:
                self.put(obj)

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Deliver types that are newly wanted, and remove those that are no longer wanted."""
        before, self.wanted = self.wanted, frozenset(type_ids)
        self.wants.append(self.wanted)
        for type_id in sorted(before - self.wanted):
            self.say(Listing(type_id), Listed(type_id))
        for type_id in sorted(self.wanted - before - self._silent):
            self.tell(type_id)

    def relist(self) -> None:
        """Deliver everything again."""
        self.relisted += 1
        self._queue = asyncio.Queue()
        self.say(Upserted("nothing/AtAll", ()))  # wakes the reader, who waits at the old queue
        for type_id in sorted(self.wanted - self._silent):
            self.tell(type_id)

    async def changes(self) -> AsyncIterator[Change]:
        """The stream, which does not end."""
        while True:
            queue = self._queue
            try:
                async with asyncio.timeout(0.02):
                    change = await queue.get()
            except TimeoutError:
                continue
            if queue is self._queue:
                yield change

    def tell(self, type_id: str) -> None:
        """The whole listing of one type."""
        self._silent.discard(type_id)
        found = tuple(obj for key, obj in self.objects.items() if key.type_id == type_id)
        self.say(Listing(type_id), Upserted(type_id, found), Listed(type_id))

    def put(self, *objects: Object) -> None:
        """Create or change objects."""
        for obj in objects:
            key = key_of(obj)
            self.version += 1
            version = {"resourceVersion": str(self.version)} if self._versions else {}
            self.objects[key] = {**obj, "metadata": {**obj["metadata"], **version}}
            if key.type_id in self.wanted - self._silent:
                self.say(Upserted(key.type_id, (self.objects[key],)))

    def delete(self, key: Key) -> None:
        """Delete an object."""
        del self.objects[key]
        if key.type_id in self.wanted:
            self.say(Deleted(key.type_id, key))

    def say(self, *changes: Change) -> None:
        """Deliver these changes."""
        for change in changes:
            self._queue.put_nowait(change)


class ScriptedSink(MemorySink):
    """A sink that writes statuses into the source's objects; they return as changes, as with an API server."""

    def __init__(self, source: ScriptedSource) -> None:
        super().__init__()
        self.writes: list[tuple[Key, dict[str, Any]]] = []
        self.held = True
        self.refusal = ""  # why every write is refused
        self._source = source

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:
        """Apply a patch. Raises WriteConflict for an older version, Gone for a deleted object, and `refusal`."""
        if self.refusal:
            raise WriteRefused(self.refusal)
        obj = self._source.objects.get(key)
        if obj is None:
            raise Gone
        if obj["metadata"]["resourceVersion"] != resource_version:
            raise WriteConflict
        self.writes.append((key, dict(patch)))
        self._source.put(patched(obj, patch))

    def overlay(self, key: Key, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the object as last written."""
        return shown

    def may_write(self) -> bool:
        """As the test wants it."""
        return self.held


class Notices:
    """A listener that keeps the replicator's notices."""

    def __init__(self, source: ScriptedSource, replicator: Replicator) -> None:
        self.seen: list[Notice] = []
        self._source = source
        self._replicator = replicator
        self._news = asyncio.Event()
        self._barriers = 0
        replicator.listen(self._note)

    def _note(self, notice: Notice) -> None:
        self.seen.append(notice)
        self._news.set()

    async def until_written(self, patience: float = 300.0) -> list[Notice]:
        """Wait until OPA holds all that the source has said; what was reported meanwhile, the mark's own part left out.

        Raises TimeoutError after `patience` seconds.
        """
        self._barriers += 1
        mark = config_map("barrier", {"number": str(self._barriers)})
        key = key_of(mark)
        before = len(self.seen)
        self._source.put(mark)
        async with asyncio.timeout(patience):
            while not any(key in notice.keys for notice in self.seen[before:]):
                self._news.clear()
                await self._news.wait()
            # Namespaces take turns, so the mark may overtake changes of others.
            while not self._replicator.idle:  # noqa: ASYNC110 - there is no sign of this
                await asyncio.sleep(0.002)
        return [without(notice, key) for notice in self.seen[before:]]

    async def until_filled(self, patience: float = 300.0) -> None:
        """Wait for the next notice of an initial sync."""
        before = len(self.seen)
        async with asyncio.timeout(patience):
            while not any(notice.refilled for notice in self.seen[before:]):
                self._news.clear()
                await self._news.wait()


def without(notice: Notice, key: Key) -> Notice:
    """Return a notice without one key."""
    keys = tuple(other for other in notice.keys if other != key)
    was = {other: paths for other, paths in notice.was.items() if other != key}
    return Notice(keys, notice.reported, was, notice.refilled)
