"""The loop that writes patches of objects: a queue in which owners take turns, plans, a budget, and writes in parallel.

Statuses, placement and the audit are built on it.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Generic, NamedTuple, TypeVar

import structlog

from bridge.model.keys import parse_key
from bridge.opa.errors import OpaError
from bridge.pacing import Budget, Turns, delay_after
from bridge.remediator.sink import Gone, Patch, StatusSink, WriteConflict, WriteRefused

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=Hashable)
FIRST_DELAY = 0.1  # seconds before a second try
LONGEST_DELAY = 30.0  # seconds; the delay doubles up to here


class RetryQueue(Generic[T]):
    """Waiting keys. Each `owner` takes turns, with its oldest due key first.

    An owner with many keys delays only its own. Without `owner` all keys have the same one.
    """

    def __init__(self, owner: Callable[[T], str] = lambda _: "") -> None:
        self._due: Turns[T] = Turns(owner)
        self._later: list[tuple[float, int, T]] = []
        self._ticket: dict[T, int] = {}  # of keys with a longer wait, the entry of `_later` that counts
        self._order = itertools.count()
        self._failures: dict[T, int] = {}
        self._added = asyncio.Event()
        self.results: Counter[str] = Counter()  # results of work, as the worker reports them

    def __len__(self) -> int:
        return len(self._due) + len(self._ticket)

    def __contains__(self, key: T) -> bool:
        return key in self._due or key in self._ticket

    def add(self, keys: Iterable[T], *, first: bool = False) -> None:
        """Add keys for work as soon as possible; a waiting key stays once. With `first` each is its owner's next."""
        for key in keys:
            self._due.add(key, first=first)
            self._ticket.pop(key, None)
        if self._due:
            self._added.set()

    def failed(self, key: T) -> None:
        """Retry this key later, with growing delays, unless it was added meanwhile."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        if key in self._due:
            return
        delay = delay_after(count, FIRST_DELAY, LONGEST_DELAY)
        ticket = self._ticket[key] = next(self._order)
        heapq.heappush(self._later, (asyncio.get_running_loop().time() + delay, ticket, key))
        self._added.set()

    def succeeded(self, key: T) -> None:
        """Reset the delay of this key."""
        self._failures.pop(key, None)

    def look_again(self) -> None:
        """Make a waiting `take` check again which keys fit."""
        self._added.set()

    async def take(self, limit: int, fits: Callable[[T], bool] = lambda _: True) -> list[T]:
        """Return up to `limit` keys that are due and fit; wait for the first."""
        while True:
            now = asyncio.get_running_loop().time()
            while self._later and self._later[0][0] <= now:
                _, ticket, key = heapq.heappop(self._later)
                if self._ticket.get(key) == ticket:
                    del self._ticket[key]
                    self._due.add(key, first=True)  # it has waited already
            if taken := self._due.take(limit, fits):
                return taken
            self._added.clear()
            wait = self._later[0][0] - now if self._later else None
            try:
                async with asyncio.timeout(wait):
                    await self._added.wait()
            except TimeoutError:
                continue


RESULTS = ("written", "conflict", "gone", "refused")  # of a write, as counted in its queue's `results`


class Planned(NamedTuple):
    """A patch of the object `key` in the state `version`, the resourceVersion that it was computed from."""

    key: str
    patch: Patch
    version: str


async def write_one(
    sink: StatusSink,
    queue: RetryQueue[T],
    item: T,
    planned: Planned,
    refused: Callable[[str, str], None] | None = None,
) -> bool:
    """Write a patch, and report the result of `item` to the queue.

    `refused` is called with the key and the reason of a write that the API server rejects (by default it is logged).

    Returns:
        Whether it was written. If the API server does not know the object or its type, the next plan decides: OPA may
        still have the object, because the type is unavailable for a moment.
    """
    key, patch, version = planned
    try:
        await sink.write(parse_key(key), patch, version)
    except Gone:
        queue.results["gone"] += 1
        queue.failed(item)
    except WriteConflict:
        queue.results["conflict"] += 1
        queue.failed(item)
    except WriteRefused as error:
        queue.results["refused"] += 1
        queue.failed(item)
        (refused or _log_refused)(key, str(error))
    else:
        queue.results["written"] += 1
        queue.succeeded(item)
        return True
    return False


def _log_refused(key: str, why: str) -> None:
    log.warning("status write failed", object=key, why=why)


WRITERS = 32  # writes at once
WRITERS_EACH = 4  # of one owner
SLOW = 1.0  # seconds: an owner whose last write took longer has one write at once


class Writers(Generic[T]):
    """Bounds the parallel writes, in total and of each owner. A write waits from `begin` until both allow it.

    An API server can take seconds for a write, for example if a tenant's admission webhook delays it, or because the
    object has thousands of fields. Such an object costs the API server so much processor time that all clients wait.
    """

    def __init__(self, owner: Callable[[T], str]) -> None:
        self._owner = owner
        self._under_way: set[T] = set()
        self._counts: Counter[str] = Counter()  # of `_under_way`, by owner
        self._all = asyncio.Semaphore(WRITERS)
        self._each: dict[str, asyncio.Semaphore] = {}  # of owners with writes in progress
        self._slow: dict[str, asyncio.Lock] = {}  # of owners whose last write was slow

    def __len__(self) -> int:
        return len(self._under_way)

    def has_room_for(self, item: T) -> bool:
        """Return whether a write of this item could start now, considering its owner's other writes."""
        # No write is begun before it can be sent: a later and more urgent one would wait behind it.
        if item in self._under_way or len(self._under_way) >= WRITERS:
            return False
        owner = self._owner(item)
        if owner not in self._slow:
            return self._counts[owner] < WRITERS_EACH
        # One write of each, and all of them leave half of the writers to others.
        return not self._counts[owner] and sum(1 for other in self._counts if other in self._slow) < WRITERS // 2

    def begin(self, item: T) -> None:
        """Count a write as in progress; `writing` must follow."""
        owner = self._owner(item)
        self._under_way.add(item)
        self._counts[owner] += 1
        self._each.setdefault(owner, asyncio.Semaphore(WRITERS_EACH))

    @asynccontextmanager
    async def writing(self, item: T) -> AsyncIterator[None]:
        """Wait until the write may start; it ends with the context."""
        owner = self._owner(item)
        try:
            async with self._each[owner], self._slow.get(owner) or nullcontext(), self._all:
                began = asyncio.get_running_loop().time()
                yield
                if asyncio.get_running_loop().time() - began > SLOW:
                    self._slow.setdefault(owner, asyncio.Lock())
                else:
                    self._slow.pop(owner, None)
        finally:
            self._under_way.discard(item)
            self._counts[owner] -= 1
            if not self._counts[owner]:
                del self._counts[owner], self._each[owner]


AWAY_DELAY = 0.5  # seconds before a retry of OPA, or a check of the right to write


class WriteLoop(ABC, Generic[T]):
    """Plans and writes the differences of items, each of which stands for one object.

    Subclasses follow the replicator's notices, add items to `_queue`, and plan. Nothing is written but from results of
    the current sync of OPA (`_whole`), and while the sink may write.
    """

    def __init__(self, sink: StatusSink, budget: Budget, owner: Callable[[T], str] = lambda _: "") -> None:
        self._sink = sink
        self._budget = budget
        self._queue: RetryQueue[T] = RetryQueue(owner)
        self._writers: Writers[T] = Writers(owner)
        self._filling = 0  # number of full syncs of OPA
        self._whole = -1  # the sync that all results are from; writes need the current one
        self._busy = 0  # steps of work in progress
        self._idle = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Return the number of items that wait for a write."""
        return len(self._queue)

    @property
    def results(self) -> Mapping[str, int]:
        """Return the results of writes (RESULTS)."""
        return self._queue.results

    @property
    def writes(self) -> int:
        """Return the number of written patches."""
        return self._queue.results["written"]

    async def settled(self) -> None:
        """Wait until nothing waits for computation or writes."""
        await self._idle.wait()

    @abstractmethod
    async def _plan(self, batch: Sequence[T]) -> dict[T, Planned | None]:
        """Return the write of each item that differs; None for an item to plan again later. Raises OpaError."""

    @abstractmethod
    def _log_delay(self, error: OpaError) -> None:
        """Log that OPA delays the plans."""

    @abstractmethod
    def _computes(self) -> bool:
        """Return whether items may follow from work that waits."""

    def _limit(self) -> int:
        """Return the number of items to plan next, at most."""
        return WRITERS

    def _fits(self, item: T) -> bool:
        """Return whether this item may be planned now."""
        return self._writers.has_room_for(item)

    def _basis(self) -> Hashable:
        """Return what plans depend on as a whole: a change makes them outdated."""
        return self._filling

    def _may_write(self) -> bool:
        return self._whole == self._filling and self._sink.may_write()

    def _set_aside(self) -> None:
        """Note that this bridge does not write now."""

    def _settle(self) -> None:
        """Finish what needs that nothing waits."""

    async def _patch(self, item: T, planned: Planned) -> bool:
        """Write; return whether it was written."""
        return await write_one(self._sink, self._queue, item, planned)

    async def _write(self) -> None:
        """Plan and write until cancelled."""
        async with asyncio.TaskGroup() as writes:
            while True:
                self._note_idle()
                batch = await self._queue.take(self._limit(), self._fits)
                with self._working():
                    if self._may_write():
                        basis = self._basis()
                        for item, planned in (await self._plan_batch(batch, basis)).items():
                            self._writers.begin(item)
                            self._busy += 1
                            writes.create_task(self._write_one(item, planned, basis))
                    else:
                        # Another bridge writes, or OPA is being synced. Differences are kept for later.
                        self._set_aside()
                        await asyncio.sleep(AWAY_DELAY)
                        self._queue.add(batch)

    async def _plan_batch(self, batch: Sequence[T], basis: Hashable) -> dict[T, Planned]:
        """Plan the writes of a batch; remove items from the queue that need none, or cannot be planned now."""
        try:
            plans = await self._plan(batch)
        except OpaError as error:
            self._log_delay(error)
            for item in batch:
                self._queue.failed(item)
            return {}
        if basis != self._basis():
            self._queue.add(batch)
            return {}
        for item in batch:
            if item not in plans:
                self._queue.succeeded(item)
            elif plans[item] is None:
                self._queue.failed(item)
        return {item: planned for item, planned in plans.items() if planned is not None}

    async def _write_one(self, item: T, planned: Planned, basis: Hashable) -> None:
        await self._budget.spend()  # not part of the write, whose duration shows whether the owner is slow
        async with self._writers.writing(item):
            # The wait may have exceeded the right to write, or the plan's validity.
            if basis == self._basis() and self._may_write():
                await self._patch(item, planned)
            else:
                self._queue.add([item])
        self._busy -= 1
        self._queue.look_again()
        self._note_idle()

    @contextmanager
    def _working(self) -> Iterator[None]:
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self._note_idle()

    def _note_idle(self) -> None:
        if self._whole == self._filling and not self._busy and not len(self._queue) and not self._computes():
            self._settle()
            self._idle.set()
