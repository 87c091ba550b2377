"""Changes of the source until they are written: progress of listings, waiting objects, and their limit.

Types that deliver nothing and objects that the bridge rejects are reported here, once each.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
import structlog

from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Rejected, Resolved, Source, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.model.observability import BYTES, COUNTS, MINUTES, Histogram, Record, record_nothing
from bridge.model.types import Fields
from bridge.replicator.links import BATCH
from bridge.sources.pruning import choose
from bridge.work import Turns

log = structlog.get_logger(__name__)
Subject = TypeVar("Subject")


class Listings:
    """Follows a change stream. A type begins with its first Listing, and is complete with the Listed of all of it."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self._awaited: set[str] = set()  # types that a sync waits for
        self._open: set[tuple[str, str]] = set()  # types, with the namespace where it is about one
        self._absent: set[str] = set()  # types that the source does not serve
        self._silent: set[str] = set()  # types with unknown objects at the moment

    def take_in(self, change: Change) -> None:
        """Process a change; changes before a type's Listing are ignored."""
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
    def is_held_up_by_silence(self) -> bool:
        """Return whether only types are incomplete that do not respond, while others do."""
        return self.missing <= self._silent and bool(self.begun - self._silent)


_TOGETHER = 0.5  # seconds: when an API server fails, all types report it, each with another message at first
_NAMED = 10  # keys in a line


class _Reasons(dict[Subject, str]):
    """Why something is missing, by subject, while it is. The log gets changes together, and none that ended by then."""

    def __init__(self) -> None:
        super().__init__()
        self._news: dict[Subject, None] = {}
        self._reported: dict[Subject, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def report(self) -> None:
        """Write to the log now."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        news, self._news = self._news, {}
        ended = [subject for subject in news if subject not in self and self._reported.pop(subject, "")]
        begun = [subject for subject in news if subject in self and self._reported.get(subject) != self[subject]]
        self._reported |= {subject: self[subject] for subject in begun}
        self._log(begun, ended)

    def _log(self, begun: Sequence[Subject], ended: Sequence[Subject]) -> None:
        raise NotImplementedError

    def _report_later(self, subject: Subject) -> None:
        """Call it in a running event loop."""
        self._news[subject] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_TOGETHER, self.report)


class Troubles(_Reasons[str]):
    """Why a subject (a type, or a file of manifests) delivers nothing at present."""

    def __init__(self) -> None:
        super().__init__()
        self.serious: set[str] = set()  # those that are a warning

    def begins(self, subject: str, message: str, *, warning: bool) -> None:
        """Note that a subject delivers nothing."""
        (self.serious.add if warning else self.serious.discard)(subject)
        if self.get(subject) != message:
            self[subject] = message
            self._report_later(subject)

    def ends(self, subject: str) -> None:
        """Note that a subject delivers objects."""
        self.serious.discard(subject)
        if self.pop(subject, None):
            self._report_later(subject)

    def _log(self, begun: Sequence[str], ended: Sequence[str]) -> None:
        reasons: dict[tuple[str, bool], list[str]] = {}
        for subject in sorted(begun):
            # Of several types the message differs only by the type.
            message = self[subject].replace(f" serve {subject}:", " serve it:")
            reasons.setdefault((message, subject in self.serious), []).append(subject)
        for (message, warning), subjects in reasons.items():
            (log.warning if warning else log.info)("resources unavailable", subjects=subjects, why=message)
        if ended:
            log.info("resources available again", subjects=sorted(ended))


class Rejections(_Reasons[Key]):
    """Follows a change stream: why an object is rejected.

    `record` gets a warning for each object when it becomes rejected, or for another reason. `counts` are by type
    (`<group>/<Kind>`).
    """

    def __init__(self, record: Record = record_nothing) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self._record = record
        # rejected objects of current listings that were not delivered again yet
        self._unseen: dict[tuple[str, str], set[Key]] = {}

    def take_in(self, change: Change) -> None:
        """Process one change. Call it in a running event loop."""
        match change:
            case Rejected(_, key):
                self._begin(change)
                for unseen in self._unseen.values():
                    unseen.discard(key)
            case Upserted(type_id, objects) if self.counts[type_id]:
                self._end(map(key_of, objects))
            case Deleted(_, key):
                self._end([key])
            case Listing(type_id, namespace):
                self._unseen[type_id, namespace] = self._find(type_id, namespace)
            case Listed(type_id, namespace):
                self._end(self._unseen.pop((type_id, namespace), set()))
            case Trouble(type_id, absent=True):
                self._end(self._find(type_id, ""))

    def _log(self, begun: Sequence[Key], ended: Sequence[Key]) -> None:
        reasons: dict[str, list[str]] = {}
        for key in begun:
            reasons.setdefault(self[key], []).append(str(key))
        for reason, keys in reasons.items():
            log.warning("objects rejected", reason=reason, count=len(keys), keys=sorted(keys)[:_NAMED])
        if ended:
            log.info("objects no longer rejected", count=len(ended), keys=sorted(map(str, ended))[:_NAMED])

    def _find(self, type_id: str, namespace: str) -> set[Key]:
        return {key for key in self if key.type_id == type_id and namespace in {"", key.namespace}}

    def _begin(self, change: Rejected) -> None:
        if self.get(change.key) == change.reason:
            return
        self.counts[change.type_id] += change.key not in self
        self[change.key] = change.reason
        message = f"Policies cannot use this object: {change.reason}."
        self._record(change.identity, "Warning", "NotReplicated", message)
        self._report_later(change.key)

    def _end(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if self.pop(key, None) is not None:
                self.counts[key.type_id] -= 1
                self._report_later(key)


LARGE = 64 << 10  # bytes of an object that is written alone: OPA needs about 0.1 s for the links of 200 KiB
_METADATA = 400  # bytes of an object's metadata, beside its annotations


@dataclass(slots=True)
class Pending:
    """Stores changes, coalesces them by object, and returns them in batches.

    `held` returns OPA's objects of a type: those that a listing does not contain become deletions. `fields` are those
    that objects keep, by type (`<group>/<Kind>`).
    """

    held: Callable[[str], set[Key]]
    fields: Mapping[str, Fields] = field(default_factory=dict)
    _objects: dict[Key, Object | None] = field(default_factory=dict)  # None: deleted
    _taken: frozenset[Key] = frozenset()  # the last batch, which OPA may not have yet
    _seen: dict[tuple[str, str], set[Key]] = field(default_factory=dict)  # of each listed type and namespace
    size: int = 0  # approximate bytes of the waiting objects, as JSON
    taken_size: int = 0  # of the last batch
    arrivals: list[float] = field(default_factory=list)  # of the last batch, by the monotonic clock
    _sizes: dict[Key, int] = field(default_factory=dict)
    _arrived: dict[Key, float] = field(default_factory=dict)  # waiting changes
    _turns: Turns[Key] = field(default_factory=lambda: Turns(lambda key: key.namespace))
    _large_next: bool = False  # whether a large object precedes small ones

    def __len__(self) -> int:
        return len(self._objects)

    def take_in(self, change: Change) -> None:
        """Note one change of a source; raises KeyError for an object without kind or name."""
        match change:
            case Listing(type_id, namespace):
                self._seen[type_id, namespace] = set()
            case Upserted(type_id, objects):
                seen = [keys for (listed, _), keys in self._seen.items() if listed == type_id]
                chosen = self.fields.get(type_id)
                for obj in objects:
                    key = key_of(obj)
                    self._put(key, choose(obj, chosen) if chosen else obj)
                    for keys in seen:
                        keys.add(key)
            case Deleted(_, key) | Rejected(_, key):
                self._put(key, None)
            case Listed(type_id, namespace):
                for key in self._known(type_id, namespace) - self._seen.pop((type_id, namespace), set()):
                    self._put(key, None)
            case Trouble(type_id, absent=True):
                self.forget(type_id)
            case Trouble() | Resolved():
                pass

    def forget(self, type_id: str) -> None:
        """Note that every object of a type is deleted."""
        for key in self._known(type_id, ""):
            self._put(key, None)

    def _put(self, key: Key, obj: Object | None) -> None:
        if key not in self._objects:
            self._arrived[key] = time.monotonic()
            self._turns.add(key)
        self._objects[key] = obj
        self.size -= self._sizes.pop(key, 0)
        if obj is not None:
            self.size += self._sizes.setdefault(key, size_of(obj))

    def _known(self, type_id: str, namespace: str) -> set[Key]:
        waiting = {key for key in (*self._objects, *self._taken) if key.type_id == type_id}
        return {key for key in self.held(type_id) | waiting if namespace in {"", key.namespace}}

    @property
    def writing(self) -> bool:
        """Return whether the last batch is not `written` yet."""
        return bool(self._taken)

    def written(self) -> None:
        """Note that OPA has the last batch."""
        self._taken = frozenset()

    def objects(self) -> Mapping[Key, Object | None]:
        """Return the waiting objects; None means a deleted one."""
        return self._objects

    def take_out(self, limit: int, most_bytes: int, *, in_turn: bool = False) -> dict[Key, Object | None]:
        """Remove and return the oldest changes; the previous batch is written now.

        They are at most `limit`, and about `most_bytes` together, but at least one. With `in_turn` namespaces take
        turns, so none waits for the changes of another; without, they have the source's order, in which OPA gets them
        as few large values. With it, a LARGE object is also a separate batch, and such batches alternate with those of
        small objects.
        """
        self.taken_size = 0
        chosen: list[Key] = []

        def fits(key: Key) -> bool:
            size = self._sizes.get(key, 0)
            if chosen and self.taken_size + size > most_bytes:
                return False
            self.taken_size += size
            chosen.append(key)
            return True

        if in_turn:
            if not self._large_next:
                self._turns.take(limit, lambda key: not self._is_large(key) and fits(key))
            if not chosen:
                self._turns.take(1, lambda key: self._is_large(key) and fits(key))
            if not chosen:
                self._turns.take(limit, fits)  # only small ones wait
            self._large_next = bool(chosen) and not self._is_large(chosen[0])
        else:
            for key in self._objects:
                if len(chosen) == limit or not fits(key):
                    break
        batch = {key: self._objects.pop(key) for key in chosen}
        for key in batch:
            self._turns.discard(key)
            self.size -= self._sizes.pop(key, 0)
        self._taken = frozenset(batch)
        self.arrivals = [self._arrived.pop(key) for key in batch]
        return batch

    def _is_large(self, key: Key) -> bool:
        return self._sizes.get(key, 0) > LARGE

    def clear(self) -> None:
        """Drop everything, because the source delivers all of it again."""
        self._objects.clear()
        self._arrived.clear()
        self._turns.clear()
        self._sizes.clear()
        self.size = 0
        self._taken = frozenset()
        self._seen.clear()


def size_of(obj: Object) -> int:
    """Return the approximate bytes of an object as JSON, without parsing text that passes through."""
    annotations = obj["metadata"].get("annotations") or {}
    size = _METADATA + sum(map(len, annotations.values()))
    for name, value in obj.items():
        if isinstance(value, msgspec.Raw):
            size += memoryview(value).nbytes
        elif name != "metadata":
            size += len(msgspec.json.encode(value))
    return size


FILLS = ("start", "restarted", "changed", "modules", "rejected")
AUDITS = ("same", "different")


class ReplicationCounts:
    """Batches by objects and bytes, seconds from a change's arrival to OPA, syncs by reason (FILLS), audits (AUDITS).

    Writes of a full sync count among the batches, and not among the seconds, which are in `fill_seconds`.
    """

    def __init__(self) -> None:
        self.batch_objects = Histogram(COUNTS)
        self.batch_bytes = Histogram(BYTES)
        self.lag = Histogram()
        self.fills: Counter[str] = Counter()
        self.fill_seconds = Histogram(MINUTES)
        self.audits: Counter[str] = Counter()

    def count_batch(self, objects: int, size: int) -> None:
        """Count a batch."""
        self.batch_objects.observe(objects)
        self.batch_bytes.observe(size)

    def count_arrivals(self, arrivals: Iterable[float]) -> None:
        """Count changes that OPA has now, by their arrival (monotonic clock)."""
        now = time.monotonic()
        for arrived in arrivals:
            self.lag.observe(now - arrived)

    @contextmanager
    def count_sync(self, reason: str) -> Iterator[None]:
        """Count the sync that the block makes, if it succeeds."""
        began = time.monotonic()
        yield
        self.fills[reason] += 1
        self.fill_seconds.observe(time.monotonic() - began)


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
            self.take_in(change)
            while len(self.pending) > ROOM or self.pending.size > ROOM_BYTES:
                self._room.clear()
                await self._room.wait()
        # A folder that is not followed is complete.
        self.exhausted = True
        self.troubles.report()
        self.rejections.report()
        self.listings.expect_nothing()
        self.wake.set()

    def take_in(self, change: Change) -> None:
        """Process one change."""
        self._note(change)
        # After a new request for everything, changes before a type's listing are outdated.
        if not isinstance(change, Upserted | Deleted | Rejected | Listed) or change.type_id in self.listings.begun:
            self.pending.take_in(change)
        self._count(change)
        self.wake.set()

    def retry(self, key: Key, obj: Object) -> None:
        """Note an object that was set aside as if it had changed."""
        change = Upserted(key.type_id, (obj,))
        self.rejections.take_in(change)
        self.pending.take_in(change)
        self.wake.set()

    def take_out(self, limit: int, most_bytes: int, *, in_turn: bool = False) -> dict[Key, Object | None]:
        """Remove and return the oldest changes, at most `limit` objects and about `most_bytes`.

        With `in_turn` namespaces take turns.
        """
        batch = self.pending.take_out(limit, most_bytes, in_turn=in_turn)
        self._counted.count_batch(len(batch), self.pending.taken_size)
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
        if self._came >= BATCH:
            self._came = 0
            self.more.set()

    def _note(self, change: Change) -> None:
        self.listings.take_in(change)
        self.rejections.take_in(change)
        match change:
            case Trouble(subject, message, absent=absent):
                self.troubles.begins(subject, message, warning=not absent or subject in self._configured)
            case Resolved(subject):
                self.troubles.ends(subject)
            case _ if change.type_id in self.listings.begun:
                self.troubles.ends(change.type_id)
