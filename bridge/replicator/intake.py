"""What the source tells, until it is written: how far each type is told, what waits, and how much may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from bridge.model.changes import Change, Deleted, Listed, Mended, Object, Rejected, Trouble, Upserted
from bridge.model.keys import Key
from bridge.model.recording import Record, record_nothing
from bridge.replicator.counted import Counted
from bridge.replicator.linking import BATCH
from bridge.replicator.listings import Listings
from bridge.replicator.pending import Pending
from bridge.replicator.rejections import Rejections
from bridge.replicator.troubles import Troubles
from bridge.sources.base import Source

ROOM = 20_000  # changes that may wait to be written; then the source waits
ROOM_BYTES = 64 << 20


class Intake:
    """Follows a source into `pending`.

    What is taken out is `counted`. `asked` are types that somebody has named: that one of them is not served is a
    warning. `record` gets a warning for each object that is rejected. `wake` is set when there is something to do,
    `more` when links of more objects can be asked (many have come, a listing has ended, some were taken out).
    `exhausted`: the source has told all that it ever will.
    """

    def __init__(
        self,
        source: Source,
        pending: Pending,
        counted: Counted,
        asked: Iterable[str] = (),
        record: Record = record_nothing,
    ) -> None:
        self.pending = pending
        self.listings = Listings()
        self.troubles = Troubles()
        self.rejections = Rejections(record)
        self.wanted: frozenset[str] = frozenset()
        self.wake = asyncio.Event()
        self.more = asyncio.Event()
        self.exhausted = False
        self._source = source
        self._counted = counted
        self._asked = frozenset(asked)
        self._room = asyncio.Event()
        self._came = 0  # objects, since `more` was set because of them

    def want(self, types: frozenset[str]) -> None:
        """Have these types delivered, and no others."""
        self.wanted = types
        self.listings.expect(frozenset() if self.exhausted else types)
        self._source.want(types)

    async def follow(self) -> None:
        """Take in what the source tells, until that ends."""
        async for change in self._source.changes():
            self._note(change)
            # After everything was asked for anew, what comes before a type's listing is left over from before.
            if not isinstance(change, Upserted | Deleted | Rejected | Listed) or change.type_id in self.listings.begun:
                self.pending.take_in(change)
            self._count(change)
            self.wake.set()
            while len(self.pending) > ROOM or self.pending.size > ROOM_BYTES:
                self._room.clear()
                await self._room.wait()
        # A folder that is not followed has told all there is.
        self.exhausted = True
        self.troubles.tell()
        self.rejections.report()
        self.listings.expect_nothing()
        self.wake.set()

    def take_out(self, limit: int, most_bytes: int, *, in_turn: bool = False) -> dict[Key, Object | None]:
        """What waits longest, at most `limit` objects and about `most_bytes`; then there is room for more.

        With `in_turn` each namespace has its turn.
        """
        batch = self.pending.take_out(limit, most_bytes, in_turn=in_turn)
        self._counted.taken_out(len(batch), self.pending.taken_size)
        self._room.set()
        self.more.set()
        return batch

    def start_over(self) -> None:
        """Have everything told anew.

        Policy kinds stay wanted: whoever looks at a fill without their policies would take every policy for gone.
        """
        self.pending.clear()
        self._room.set()
        self.listings.start_over()
        self.want(self.wanted)
        self._source.relist()

    def _count(self, change: Change) -> None:
        match change:
            case Upserted(_, objects):
                self._came += len(objects)
            case Listed():
                self._came += BATCH
            case _:
                pass
        if self._came >= BATCH:
            self._came = 0
            self.more.set()

    def _note(self, change: Change) -> None:
        self.listings.note(change)
        self.rejections.note(change)
        match change:
            case Trouble(subject, message, absent=absent):
                self.troubles.begins(subject, message, warning=not absent or subject in self._asked)
            case Mended(subject):
                self.troubles.ends(subject)
            case _ if change.type_id in self.listings.begun:
                self.troubles.ends(change.type_id)
