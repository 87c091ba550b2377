"""The loop that writes patches of objects, on which statuses, placement and the audit are built; and where it writes.

A queue in which owners take turns, plans, a budget, and writes in parallel, to a cluster, or to memory for a folder.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import structlog

from bridge.derived.loop import Derived, Loop
from bridge.model.keys import Key, parse_key
from bridge.opa.errors import OpaError
from bridge.work import PAUSE, WRITERS, Budget, RetryQueue, Writers

Patch = Mapping[str, Any]  # {status: its fields} or {metadata: {annotations}}, a merge patch (RFC 7386)
Names = Mapping[str, str]  # {controllerName, kind}, from which the conditions of a policy kind have their types


class WriteConflict(Exception):
    """The object has changed since its status was computed."""


class Gone(Exception):
    """The API server does not have the object, or does not serve its type at present."""


class WriteRefused(Exception):
    """The API server rejects the status; the text has the cause and the fix."""


class StatusSink(Protocol):
    """Accepts patches of objects."""

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:
        """Patch an object, if it still has `resource_version`: its status, or its annotations.

        Raises Conflict, Gone or WriteRefused; other errors may be retried.
        """
        ...

    def overlay(self, key: Key, current: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an object's current `{status, annotations}`, with writes that do not come back from the source."""
        ...

    def may_write(self) -> bool:
        """Return whether this bridge writes now."""
        ...

    def recall(self) -> Sequence[Names]:
        """Return the last value of `remember`, from this bridge or an earlier one."""
        ...

    def remember(self, names: Sequence[Names]) -> None:
        """Store the names of marks, so the marks can be found after their kinds are deleted."""
        ...


class MemorySink:
    """Statuses of a folder of manifests: kept in memory, never written to the files."""

    def __init__(self) -> None:
        self.statuses: dict[Key, dict[str, Any]] = {}
        self.annotations: dict[Key, dict[str, Any]] = {}
        self._names: Sequence[Names] = ()

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:  # noqa: ARG002
        """Keep the patch; there are no other writers."""
        self.statuses.setdefault(key, {}).update(patch.get("status", {}))
        self.annotations.setdefault(key, {}).update(patch.get("metadata", {}).get("annotations", {}))

    def overlay(self, key: Key, current: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the object's current state with the kept patches."""
        annotations = {**current["annotations"], **self.annotations.get(key, {})}
        return {
            **current,
            "status": {**current["status"], **self.statuses.get(key, {})},
            "annotations": {name: value for name, value in annotations.items() if value is not None},
        }

    def may_write(self) -> bool:
        """Return True: there are no other writers."""
        return True

    def recall(self) -> Sequence[Names]:
        """Return nothing: no file has earlier names."""
        return self._names

    def remember(self, names: Sequence[Names]) -> None:
        """Keep them for the lifetime of this process, like the marks themselves."""
        self._names = tuple(names)


log = structlog.get_logger(__name__)

T = TypeVar("T", bound=Hashable)


RESULTS = ("written", "conflict", "gone", "refused")  # of a write, as counted in its queue's `results`


class Planned(NamedTuple):
    """A patch of the object `key` in the state `version`, the resourceVersion that it was computed from."""

    key: str
    patch: Patch
    version: str


async def write_one(
    sink: StatusSink, queue: RetryQueue[T], item: T, planned: Planned, refused: Callable[[str, str], None] | None = None
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


class WriteLoop(ABC, Generic[T]):
    """Plans and writes the differences of items, each of which stands for one object.

    Subclasses are computed by `loop`, add items to `_queue`, and plan. Nothing is written but from results of the
    loop's current epoch (`_whole`), and while the sink may write.
    """

    def __init__(self, loop: Loop, sink: StatusSink, budget: Budget, owner: Callable[[T], str] = lambda _: "") -> None:
        self._loop = loop
        self._sink = sink
        self._budget = budget
        self._queue: RetryQueue[T] = RetryQueue(owner)
        self.results: Mapping[str, int] = self._queue.results  # of writes: RESULTS
        self._writers: Writers[T] = Writers(owner)
        self._whole = -1  # the epoch of the loop that all results are from; writes need the current one
        self._busy = 0  # steps of work in progress
        self._delayed = 0  # writes that wait for the budget
        self._idle = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Return the number of items that wait for a write."""
        return len(self._queue)

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
    def _has_work(self) -> bool:
        """Return whether items may follow from work that waits."""

    def _limit(self) -> int:
        """Return the number of items to plan next, at most."""
        return WRITERS

    def _fits(self, item: T) -> bool:
        """Return whether this item may be planned now."""
        return self._writers.has_room_for(item)

    def _basis(self) -> Hashable:
        """Return what plans depend on as a whole: a change makes them outdated."""
        return self._loop.epoch

    @property
    def _is_whole(self) -> bool:
        """Return whether all results are of OPA as it was synced last."""
        return self._whole == self._loop.epoch

    def _may_write(self) -> bool:
        return self._is_whole and self._sink.may_write()

    def _set_aside(self) -> None:
        """Note that this bridge does not write now."""

    def _settle(self) -> None:
        """Finish what needs that nothing waits."""

    async def _patch(self, item: T, planned: Planned) -> bool:
        """Write; return whether it was written."""
        return await write_one(self._sink, self._queue, item, planned)

    async def _follow_while_writing(self, *results: Derived[Any]) -> None:
        """Compute results while this bridge writes, until cancelled: another one does until then."""
        while True:
            while not self._sink.may_write():  # noqa: ASYNC110 (the Lease has no event here)
                await asyncio.sleep(PAUSE)
            with ExitStack() as following:
                for result in results:
                    following.enter_context(self._loop.following(result))
                while self._sink.may_write():  # noqa: ASYNC110
                    await asyncio.sleep(PAUSE)

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
                        await asyncio.sleep(PAUSE)
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
        self._delayed += 1
        await self._budget.spend()  # not part of the write, whose duration shows whether the owner is slow
        self._delayed -= 1
        self._queue.look_again()
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
        if self._is_whole and not self._busy and not len(self._queue) and not self._has_work():
            self._settle()
            self._idle.set()
