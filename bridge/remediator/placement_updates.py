"""Updates objects of configured kinds to the placement decision: evaluated in batches, with only differences written.

An object that changed is evaluated at once. After a change of other data, and once a minute, all objects are: in a
sweep, which takes at most a fifth of the time. After a change of the policy they are evaluated immediately. An object
that differs is evaluated once more, waits for the budget, and is patched from that version.

The loop computes both, as results of their own: a slow decision of a sweep delays no changed object.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import structlog

from bridge.derived.loop import Derived, Loop
from bridge.model.changes import Notice
from bridge.model.keys import namespace_in, parse_key
from bridge.model.observability import Record, record_nothing
from bridge.model.placement_decision import Mode, Placed, annotation_text, differing
from bridge.opa.batches import batches
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.remediator.decisions import Decided, Deciding
from bridge.remediator.write_loop import Planned, StatusSink, WriteLoop, write_one
from bridge.work import Budget, Turns

WINDOW = 60.0  # seconds
REST = 600.0  # seconds that an object which flips is left alone
MOST = 5  # patches of one object within a window


@dataclass(slots=True)
class _Patched:
    at: deque[float] = field(default_factory=deque)
    names: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Stopped:
    since: float
    names: frozenset[str]
    declared: Any  # None: not read yet


class Flips:
    """Times are of one monotonic clock, in seconds. `declared` is the result of `Deciding.declared` for an object."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._patched: dict[str, _Patched] = {}
        self._stopped: dict[str, _Stopped] = {}

    def record_patch(self, key: str, names: Collection[str], now: float) -> None:
        """Note that these annotations of an object were patched."""
        known = self._patched.pop(key, None) or _Patched()
        known.at.append(now)
        known.names.update(names)
        self._patched[key] = known  # the last patched one is last
        while (first := next(iter(self._patched))) and self._patched[first].at[-1] <= now - WINDOW:
            del self._patched[first]

    def is_flipping(self, key: str, now: float) -> bool:
        """Return whether one more patch of this object would be too many."""
        known = self._patched.get(key)
        if known is None:
            return False
        while known.at and known.at[0] <= now - WINDOW:
            known.at.popleft()
        if not known.at:
            del self._patched[key]
            return False
        return len(known.at) >= self.most

    def stop(self, key: str, declared: Mapping[str, Any] | None, now: float) -> tuple[str, ...]:
        """Stop patching this object; return the changing annotations."""
        names = frozenset(self._patched.pop(key, _Patched()).names)
        self._stopped[key] = _Stopped(now, names, _remove_annotations(declared, names))
        return tuple(sorted(names))

    def stopped_among(self, keys: Collection[str]) -> set[str]:
        """Return the stopped objects."""
        return self._stopped.keys() & set(keys)

    def resume(self, key: str, declared: Mapping[str, Any] | None, now: float) -> bool:
        """Return whether a stopped object must be placed again, because it declares something else or time is up."""
        known = self._stopped.get(key)
        if known is None:  # another task has removed it meanwhile
            return True
        if now < known.since + REST and _remove_annotations(declared, known.names) == known.declared:
            return False
        del self._stopped[key]
        return True

    def resume_all(self) -> list[str]:
        """Place stopped objects again, because the policy has changed. The patches of all others still count."""
        was = sorted(self._stopped)
        self._stopped.clear()
        return was

    def forget(self, key: str) -> None:
        """Drop a deleted object."""
        self._patched.pop(key, None)
        self._stopped.pop(key, None)


def _remove_annotations(declared: Mapping[str, Any] | None, names: Collection[str]) -> Any:
    if declared is None:
        return None
    kept = {name: value for name, value in (declared["annotations"] or {}).items() if name not in names}
    return {**declared, "annotations": kept}


log = structlog.get_logger(__name__)

DENIED = "PlacementDenied"  # the decision has errors
FAILED = "PlacementFailed"  # the decision is invalid, or the API server rejects its annotations
STOPPED = "PlacementStopped"  # patched again and again
DIFFERS = "PlacementDiffers"  # mode Report: what would be written


class Reports:
    """Remembers the report on each object, to avoid repetition. `counts` are by reason.

    Events are recorded only for objects in mode Write: Report leaves no trace in the cluster.
    """

    def __init__(self, record: Record) -> None:
        self.counts: Counter[str] = Counter()
        self._record = record
        self._reported: dict[str, tuple[str, str]] = {}

    def __call__(self, mode: Mode, key: str, obj: Mapping[str, Any], reason: str, message: str) -> None:
        """Report why an object differs from the decision."""
        if self._reported.get(key) == (reason, message):
            return
        self._reported[key] = (reason, message)
        self.counts[reason] += 1
        if reason == DIFFERS:
            log.info("placement differs", object=key, annotations=message)
            return
        log.warning("object not placed", object=key, reason=reason, why=message)
        if mode == "Write":
            self._record(obj, "Warning", reason, message)

    def fine(self, key: str, *, gone: bool = False) -> None:
        """Note that an object agrees with the decision, or that there is none."""
        reported = self._reported.pop(key, None)
        if reported and reported[0] != DIFFERS and not gone:
            log.info("placement recovered", object=key, after=reported[0])


@dataclass(frozen=True, slots=True)
class Plan:
    """The annotations to set on an object in the state of its decision."""

    decided: Decided
    changes: dict[str, str]


BATCH = 500  # objects of a query: more gain nothing, and a failure costs more
WRITE_BATCH = 20  # planned writes: each object is evaluated once more, so no write waits long for its turn
DEBOUNCE = 0.05  # seconds between sweeps at least, in which changes gather
IDLE_SHARE = 4  # after a sweep the next one waits for this multiple of its duration, unless the policy changed
PERIOD = 60.0  # seconds between sweeps without changes: the decision may read the time, or data of others
LOOK = 0.5  # seconds between checks of OPA's revisions


class Placement(WriteLoop[str], Derived[str]):
    """Evaluates changed objects, and writes; `run` works until it is cancelled.

    `placed` are the kinds, `budget` bounds the patches per second, `record` gets the Events, and an object that was
    patched `most_patches` times within a minute is not patched further. `counts` has actions and reports, by name.
    """

    name = "placement"
    asks = False

    def __init__(
        self,
        loop: Loop,
        opa: Opa,
        sink: StatusSink,
        placed: Iterable[Placed],
        budget: Budget,
        record: Record = record_nothing,
        most_patches: int = MOST,
    ) -> None:
        super().__init__(loop, sink, budget, namespace_in)
        self._kinds = {one.type_id: one for one in placed}
        self._deciding = Deciding(opa)
        self._reports = Reports(record)
        self.counts = self._reports.counts  # of evaluated and patched objects, and of reports, by name
        self._flips = Flips(most_patches)
        self._plans: dict[str, Plan] = {}  # of planned writes
        self._sweep = _Sweep(self, loop, self._kinds.keys())
        self._revisions: dict[str, str] = {}
        self._policy = 0  # number of policy changes

    @property
    def to_judge(self) -> int:
        """Return the number of objects that wait for evaluation."""
        return self._loop.count_stale(self)

    def set_limits(self, rate: float, most_patches: int) -> None:
        """Use these limits from now on: patches per second, and patches of one object per minute."""
        self._budget.change(rate)
        self._flips.most = most_patches

    def policy_changed(self) -> None:
        """Evaluate everything immediately, also stopped objects, because the policy has changed."""
        self._policy += 1
        for key in self._flips.resume_all():
            log.info("placement resumed after policy change", object=key)
        self._sweep.begin_now()

    async def run(self) -> None:
        """Evaluate and write until cancelled; without kinds there is nothing to do."""
        if not self._kinds:
            self._idle.set()
            return
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_while_writing(self, self._sweep))
            tasks.create_task(self._write())
            tasks.create_task(self._look())

    async def settled(self) -> None:
        """Wait until nothing waits for evaluation or writes."""
        if self._kinds:
            await self._loop.settled(self._sweep)
            await self._loop.settled(self)
        await super().settled()

    def notice(self, change: Notice) -> None:
        """Evaluate changed objects; a sweep covers those that a change of other data concerns."""
        keys = [str(key) for key in (*change.keys, *change.reported) if key.type_id in self._kinds]
        if keys:
            self._idle.clear()
            self._loop.add(self, keys)

    async def every(self) -> AsyncIterator[Iterable[str]]:
        """Yield nothing: a sweep has all objects."""
        yield ()

    def owner_of(self, key: str) -> str:
        """Return the namespace."""
        return namespace_in(key)

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """Return as many objects as one query evaluates."""
        return [stale.take(BATCH)]

    async def compute(self, keys: Sequence[str]) -> None:
        """Evaluate objects, and let those that differ be written."""
        self._queue.add(await self._judge(keys))

    def forget(self) -> None:
        """Sweep: changed objects may have been missed."""
        self._sweep.begin_now()

    def distrust(self) -> None:
        """Note that nothing is settled until OPA is synced."""
        self._idle.clear()

    def settle(self, revision: int) -> None:  # noqa: ARG002
        """Note whether everything is evaluated."""
        self._note_idle()

    async def sweep(self, type_id: str) -> None:
        """Evaluate all objects of a type. Raises OpaError."""
        self._idle.clear()
        for batch in batches(await self._deciding.keys(type_id), BATCH):
            await self.compute(batch)

    async def _judge(self, keys: Sequence[str]) -> list[str]:
        """Report objects that cannot be placed, or would be; return the keys of those to write.

        Raises OpaError, like the others.
        """
        self._reports.counts["judged"] += len(keys)
        plans = await self._plan_changes(keys)
        to_write = []
        for key, plan in plans.items():
            kind = self._kinds[parse_key(key).type_id]
            if kind.mode == "Write":
                to_write.append(key)
            else:
                self._reports(kind.mode, key, plan.decided.object, DIFFERS, annotation_text(plan.changes))
        return to_write

    async def _plan_changes(self, keys: Sequence[str]) -> dict[str, Plan]:
        """Return the differences, by key; report objects that cannot be placed, and note the others."""
        keys = await self._skip_stopped(keys)
        plans: dict[str, Plan] = {}
        for kind in self._kinds.values():
            chosen = [key for key in keys if parse_key(key).type_id == kind.type_id]
            found = await self._deciding.decide(kind.decision, chosen)
            for key in chosen:
                decided = found.get(key)
                if decided is None:  # deleted, or undefined: nothing to do
                    self._reports.fine(key, gone=True)
                elif decided.failure:
                    self._reports(kind.mode, key, decided.object, FAILED, decided.failure)
                elif decided.decision.errors:
                    self._reports(kind.mode, key, decided.object, DENIED, "; ".join(decided.decision.errors))
                elif changes := differing(self._read_current(key, decided), decided.decision.annotations):
                    plans[key] = Plan(decided, changes)
                else:
                    self._reports.fine(key)
        return plans

    def _read_current(self, key: str, decided: Decided) -> dict[str, str]:
        current = {"status": {}, "annotations": decided.annotations}
        return dict(self._sink.overlay(parse_key(key), current)["annotations"])

    async def _stop(self, key: str, plan: Plan, now: float) -> None:
        """Stop patching an object, and report it. Raises OpaError."""
        declared = await self._deciding.declared([key])
        names = self._flips.stop(key, declared.get(key), now)
        why = (
            f"{', '.join(names)}: set {self._flips.most} times within a minute, because the policy or another writer "
            f"keeps changing it; the bridge sets it again after {REST / 60:g} minutes, or when the policy or object "
            "changes"
        )
        self._reports("Write", key, plan.decided.object, STOPPED, why)

    async def _skip_stopped(self, keys: Sequence[str]) -> list[str]:
        stopped = self._flips.stopped_among(keys)
        if not stopped:
            return list(keys)
        declared = await self._deciding.declared(sorted(stopped))
        now = asyncio.get_running_loop().time()
        for key in sorted(stopped):
            if key not in declared:
                self._flips.forget(key)
            elif self._flips.resume(key, declared[key], now):
                log.info("placement resumed", object=key)
            else:
                continue
            stopped.discard(key)
        return [key for key in keys if key not in stopped]

    async def _look(self) -> None:
        while True:
            with contextlib.suppress(OpaError):
                revisions = await self._deciding.revisions()
                if self._revisions and revisions and revisions != self._revisions:
                    log.info("placement restarted after policy change")
                    self.policy_changed()
                self._revisions = revisions or self._revisions
            await asyncio.sleep(LOOK)

    async def _plan(self, batch: Sequence[str]) -> dict[str, Planned | None]:
        plans = await self._plan_changes(batch)
        now = asyncio.get_running_loop().time()
        for key in [key for key in plans if self._flips.is_flipping(key, now)]:
            await self._stop(key, plans.pop(key), now)
        self._plans |= plans
        return {
            key: Planned(key, {"metadata": {"annotations": plan.changes}}, plan.decided.version)
            for key, plan in plans.items()
        }

    def _log_delay(self, error: OpaError) -> None:
        log.info("placement waiting for OPA", why=str(error))

    def _has_work(self) -> bool:
        return not (self._loop.is_settled(self) and self._loop.is_settled(self._sweep))

    def _limit(self) -> int:
        return max(1, WRITE_BATCH - len(self._writers))

    def _fits(self, item: str) -> bool:
        return len(self._writers) < WRITE_BATCH and super()._fits(item)

    @property
    def _is_whole(self) -> bool:
        return self._loop.is_synced  # each decision is one of OPA's current data

    def _basis(self) -> tuple[int, int]:
        return self._loop.epoch, self._policy

    async def _patch(self, item: str, planned: Planned) -> bool:
        plan = self._plans.pop(item)

        def refused(key: str, why: str) -> None:
            self._reports("Write", key, plan.decided.object, FAILED, why)

        written = await write_one(self._sink, self._queue, item, planned, refused)
        if written:
            self._flips.record_patch(item, plan.changes, asyncio.get_running_loop().time())
            self.counts["patched"] += 1
            log.info("object placed", object=item, annotations=annotation_text(plan.changes))
            self._reports.fine(item)
        return written


class _Sweep(Derived[str]):
    """Evaluates all objects of types, in turn; its keys are the types. Between sweeps there is a rest."""

    name = "placement of all objects"
    asks = False
    period = PERIOD

    def __init__(self, placement: Placement, loop: Loop, types: AbstractSet[str]) -> None:
        self._placement = placement
        self._loop = loop
        self._types = types
        self._rests_until = 0.0
        self._hurries = False  # the next sweep begins without a rest

    def begin_now(self) -> None:
        """Evaluate everything without a rest."""
        self._rests_until, self._hurries = 0.0, True
        self._loop.renew(self)

    def notice(self, change: Notice) -> None:
        """A decision may read any other object."""
        for changed in {key.type_id for key in (*change.keys, *change.reported)}:
            self._loop.add(self, self._types - {changed})  # its own annotations would begin a sweep otherwise

    async def every(self) -> AsyncIterator[Iterable[str]]:
        """Yield the types."""
        yield self._types

    def rest(self, key: str) -> float:  # noqa: ARG002 - all types rest together
        """Return what is left of the rest after a sweep."""
        return self._rests_until - asyncio.get_running_loop().time()

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """Return all stale types after a rest."""
        return [sorted(stale.take(len(stale), lambda key: self.rest(key) <= 0))]

    async def compute(self, keys: Sequence[str]) -> None:
        """Evaluate all objects of types."""
        clock = asyncio.get_running_loop().time
        began, self._hurries = clock(), False
        for type_id in keys:
            await self._placement.sweep(type_id)
        if not self._hurries:
            self._rests_until = clock() + max(DEBOUNCE, IDLE_SHARE * (clock() - began))

    def distrust(self) -> None:
        """Evaluate everything as soon as OPA is synced."""
        self._rests_until, self._hurries = 0.0, True

    def settle(self, revision: int) -> None:
        """Note whether everything is evaluated."""
        self._placement.settle(revision)
