"""Changes of the source until they are written: progress of listings, waiting objects, and their limit.

Types that deliver nothing and objects that the bridge rejects are reported here, once each.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import structlog

from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Rejected, Resolved, Source, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.model.observability import Record, record_nothing
from bridge.replicator.links import BATCH
from bridge.replicator.pending import Pending, ReplicationCounts

log = structlog.get_logger(__name__)


class Listings:
    """Follows a change stream. A type begins with its first Listing, and is complete with the Listed of all of it."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self._awaited: set[str] = set()  # types that a sync waits for
        self._open: set[tuple[str, str]] = set()  # types, with the namespace where it is about one
        self._absent: set[str] = set()  # types that the source does not serve
        self._silent: set[str] = set()  # types with unknown objects at the moment

    def note(self, change: Change) -> None:
        """Process a change; changes before a type's Listing do not count."""
        match change:
            case Listing(type_id, namespace):
                self._open.add((type_id, namespace))
                self.begun.add(type_id)
                self._absent.discard(type_id)
                self._silent.discard(type_id)
            case Listed(type_id, namespace) if type_id in self.begun:
                self._open.discard((type_id, namespace))
                if not namespace:
                    self._awaited.discard(type_id)
            case Upserted(type_id) | Deleted(type_id) if type_id in self.begun:
                self._silent.discard(type_id)
            case Trouble(subject, unknown=unknown):
                self._open = {place for place in self._open if place[0] != subject}
                if unknown:
                    self._silent.add(subject)
                else:
                    self._silent.discard(subject)
                    self._absent.add(subject)
                    self._awaited.discard(subject)
            case _:
                pass

    def expect(self, types: AbstractSet[str]) -> None:
        """Wait for those of these types that have not begun, and that are served."""
        self._awaited = set(types) - self.begun - self._absent

    def expect_nothing(self) -> None:
        """Wait for no type that has not begun."""
        self._awaited.clear()

    def start_over(self) -> None:
        """Note that everything was requested again."""
        self._open.clear()
        self.begun.clear()
        self._absent.clear()

    @property
    def missing(self) -> set[str]:
        """Return the incomplete types."""
        return self._awaited | {type_id for type_id, _ in self._open}

    @property
    def held_up_by_silence(self) -> bool:
        """Return whether only types are incomplete that do not respond, while others do."""
        return self.missing <= self._silent and bool(self.begun - self._silent)


_TOGETHER = 0.5  # seconds: when an API server fails, all types report it, each with another message at first


class Troubles(dict[str, str]):
    """Why a subject (a type, or a file of manifests) delivers nothing at present, as text.

    `begins` and `ends` update the dictionary, and the log shortly after, unless the message is unchanged.
    """

    def __init__(self) -> None:
        super().__init__()
        self.serious: set[str] = set()  # those that are a warning
        self._news: dict[str, bool] = {}  # subjects to report; whether as a warning
        self._reported: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begins(self, subject: str, message: str, *, warning: bool) -> None:
        """Note that a subject delivers nothing. Call it in a running event loop."""
        (self.serious.add if warning else self.serious.discard)(subject)
        if self.get(subject) != message:
            self[subject] = message
            self._tell_later(subject, warning=warning)

    def ends(self, subject: str) -> None:
        """Note that a subject delivers objects."""
        self.serious.discard(subject)
        if self.pop(subject, None):
            self._tell_later(subject, warning=False)

    def tell(self) -> None:
        """Write to the log now."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        news, self._news = self._news, {}
        ended: list[str] = []
        reasons: dict[tuple[str, bool], list[str]] = {}
        for subject, warning in sorted(news.items()):
            message = self.get(subject)
            if message is None:
                ended += [subject] if self._reported.pop(subject, None) else []
            elif self._reported.get(subject) != message:
                self._reported[subject] = message
                reasons.setdefault((_general(message, subject), warning), []).append(subject)
        for (message, warning), subjects in reasons.items():
            (log.warning if warning else log.info)("resources unavailable", subjects=subjects, why=message)
        if ended:
            log.info("resources available again", subjects=ended)

    def _tell_later(self, subject: str, *, warning: bool) -> None:
        self._news[subject] = warning
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_TOGETHER, self.tell)


def _general(message: str, subject: str) -> str:
    """Return the message in a form that is equal for several subjects."""
    return message.replace(f" serve {subject}:", " serve it:")


_NAMED = 10  # keys in a line


class Rejections(dict[Key, str]):
    """Follows a change stream: why an object is rejected, by key, while it is.

    `record` gets a warning for each object when it becomes rejected, or for another reason; the log gets it shortly
    after. `counts` are by type (`<group>/<Kind>`).
    """

    def __init__(self, record: Record = record_nothing) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self._record = record
        # rejected objects of current listings that were not delivered again yet
        self._unseen: dict[tuple[str, str], set[Key]] = {}
        self._news: dict[Key, None] = {}
        self._reported: dict[Key, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def note(self, change: Change) -> None:
        """Process one change. Call it in a running event loop."""
        match change:
            case Rejected(_, key):
                self._begins(change)
                for unseen in self._unseen.values():
                    unseen.discard(key)
            case Upserted(type_id, objects) if self.counts[type_id]:
                self._end(map(key_of, objects))
            case Deleted(_, key):
                self._end([key])
            case Listing(type_id, namespace):
                self._unseen[type_id, namespace] = self._of(type_id, namespace)
            case Listed(type_id, namespace):
                self._end(self._unseen.pop((type_id, namespace), set()))
            case Trouble(type_id, absent=True):
                self._end(self._of(type_id, ""))
            case _:
                pass

    def report(self) -> None:
        """Write to the log now."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        news, self._news = self._news, {}
        reasons: dict[str, list[str]] = {}
        ended: list[str] = []
        for key in news:
            reason = self.get(key)
            if reason is None:
                ended += [str(key)] if self._reported.pop(key, None) else []
            elif self._reported.get(key) != reason:
                self._reported[key] = reason
                reasons.setdefault(reason, []).append(str(key))
        for reason, keys in reasons.items():
            log.warning("objects rejected", reason=reason, count=len(keys), keys=sorted(keys)[:_NAMED])
        if ended:
            log.info("objects no longer rejected", count=len(ended), keys=sorted(ended)[:_NAMED])

    def _of(self, type_id: str, namespace: str) -> set[Key]:
        return {key for key in self if key.type_id == type_id and namespace in {"", key.namespace}}

    def _begins(self, change: Rejected) -> None:
        if self.get(change.key) == change.reason:
            return
        self.counts[change.type_id] += change.key not in self
        self[change.key] = change.reason
        message = f"Policies do not see this object: {change.reason}."
        self._record(change.identity, "Warning", "NotReplicated", message)
        self._report_later(change.key)

    def _end(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if self.pop(key, None) is not None:
                self.counts[key.type_id] -= 1
                self._report_later(key)

    def _report_later(self, key: Key) -> None:
        self._news[key] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_TOGETHER, self.report)


ROOM = 20_000  # changes that may wait for a write; then the source waits
ROOM_BYTES = 64 << 20


class Intake:
    """Follows a source into `pending`.

    Removed changes are `counted`. `configured` are types that a setting names: a missing one causes a warning. `record`
    gets a warning for each rejected object. `wake` is set when there is work, `more` when links of more objects can be
    queried (many have arrived, a listing has ended, some were removed). `exhausted`: the source has ended.
    """

    def __init__(
        self,
        source: Source,
        pending: Pending,
        counted: ReplicationCounts,
        configured: Iterable[str] = (),
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
        self._configured = frozenset(configured)
        self._room = asyncio.Event()
        self._came = 0  # objects since `more` was set because of them

    def want(self, types: frozenset[str]) -> None:
        """Request these types, and no others."""
        self.wanted = types
        self.listings.expect(frozenset() if self.exhausted else types)
        self._source.want(types)

    async def follow(self) -> None:
        """Process the source's changes, until it ends."""
        async for change in self._source.changes():
            self._note(change)
            # After a new request for everything, changes before a type's listing are outdated.
            if not isinstance(change, Upserted | Deleted | Rejected | Listed) or change.type_id in self.listings.begun:
                self.pending.take_in(change)
            self._count(change)
            self.wake.set()
            while len(self.pending) > ROOM or self.pending.size > ROOM_BYTES:
                self._room.clear()
                await self._room.wait()
        # A folder that is not followed is complete.
        self.exhausted = True
        self.troubles.tell()
        self.rejections.report()
        self.listings.expect_nothing()
        self.wake.set()

    def retry(self, key: Key, obj: Object) -> None:
        """Note an object that was set aside as if it had changed."""
        change = Upserted(key.type_id, (obj,))
        self.rejections.note(change)
        self.pending.take_in(change)
        self.wake.set()

    def take_out(self, limit: int, most_bytes: int, *, in_turn: bool = False) -> dict[Key, Object | None]:
        """Remove and return the oldest changes, at most `limit` objects and about `most_bytes`.

        With `in_turn` namespaces take turns.
        """
        batch = self.pending.take_out(limit, most_bytes, in_turn=in_turn)
        self._counted.taken_out(len(batch), self.pending.taken_size)
        self._room.set()
        self.more.set()
        return batch

    def start_over(self) -> None:
        """Request everything again.

        Policy kinds stay requested: without their policies, a sync would look as if all were deleted.
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
                self.troubles.begins(subject, message, warning=not absent or subject in self._configured)
            case Resolved(subject):
                self.troubles.ends(subject)
            case _ if change.type_id in self.listings.begun:
                self.troubles.ends(change.type_id)
