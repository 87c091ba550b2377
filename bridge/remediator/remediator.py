"""The remediator: compares desired and current statuses of objects, and writes only differences."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import structlog

from bridge import tracing
from bridge.derived.loop import Derived, Loop, Outdated
from bridge.model.changes import Notice
from bridge.model.keys import namespace_in, parse_key
from bridge.model.nesting import as_mapping
from bridge.opa.batches import parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.remediator.outcomes import SMALL, Computing, Dirty, Item, Ledger, Place, Report, Settling, Stale
from bridge.remediator.plan import plan_affected, plan_policy
from bridge.remediator.write_loop import Planned, StatusSink, WriteLoop
from bridge.work import WRITERS, BatchSize, Budget, RetryQueue, Turns

Follower = Callable[[frozenset[str]], None]

log = structlog.get_logger(__name__)

STATUS_BATCH = 100  # policies or objects of a query
BUDGET_AHEAD = 0.2  # seconds: the budget for one batch, so no namespace waits for another's
REMEMBER_PERIOD = 1.0  # seconds between checks of the data for a later bridge


class Remediator(WriteLoop[Item], Derived[Stale]):
    """Keeps the outcomes of policies up to date, by effective target, and writes statuses; `run` works until cancelled.

    `budget` bounds the writes per second. Statuses of policy kinds in mode Observe are neither computed nor written
    here: clients query OPA for them.
    """

    name = "statuses"
    patient = True
    newest_first = False  # otherwise a change might never be settled beside later ones

    def __init__(self, loop: Loop, opa: Opa, sink: StatusSink, budget: Budget, patient: Opa | None = None) -> None:
        """`patient` is a client of the same OPA with a longer timeout for queries about everything; default: `opa`."""
        super().__init__(loop, sink, budget, lambda item: namespace_in(item[1]))
        self._opa = opa
        self._ledger = Ledger()
        self.tallies = self._ledger.tallies
        self._computing = Computing(opa, self._ledger, patient)
        self.computed = self._computing.computed
        self._batch = BatchSize(STATUS_BATCH)
        self._alone: RetryQueue[Place] = RetryQueue(lambda place: namespace_in(place[1]))  # to compute alone
        self._reported: dict[Item, Report] = {}  # of items in the queue, from the query that computed the change
        self._traces: dict[Item, tuple[Any, ...]] = {}  # of items in the queue, the spans that computed them
        self._followers: list[Follower] = []

    def follow(self, follower: Follower) -> None:
        """Report policies with possibly changed outcomes to `follower` from now on, by key.

        Meanwhile, policies in mode Observe are counted too.
        """
        self._followers.append(follower)
        self._count_observed()

    def unfollow(self, follower: Follower) -> None:
        """Stop reporting to `follower`."""
        self._followers.remove(follower)
        self._count_observed()

    @property
    def is_complete(self) -> bool:
        """Return whether the outcomes of all policies are counted: none is missing until everything is computed."""
        return self._is_whole and not self._computing.partial

    async def run(self) -> None:
        """Compute and write until cancelled."""
        with self._loop.following(self):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._compute_alone())
                tasks.create_task(self._write())
                tasks.create_task(self._remember())

    async def settled(self) -> None:
        """Wait until nothing waits for computation or writes."""
        await self._loop.settled(self)
        await super().settled()

    def wants(self, change: Notice, since: float) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the parts with what a change affects."""
        return {"scopes": {}, "objects": {}, "policies": {}}

    def wants_besides(self, change: Notice) -> Mapping[str, Any]:
        """Return the part with the outcomes and statuses of a small change."""
        return self._computing.wants_besides(change)

    def is_large(self, outdated: Outdated) -> bool:
        """Return whether a change affects so many effective targets that its statuses would delay those of others."""
        return sum(map(len, outdated.parts.get("scopes", {}).values())) > SMALL

    def hear(self, outdated: Outdated) -> None:
        """Count what OPA says of a change, and write the statuses of one that is settled by it."""
        self._idle.clear()
        change = self._computing.take_in(outdated)
        if self._computing.end_if_settled(change):
            self._report(change)

    async def keys_of(self, outdated: Outdated) -> Iterable[Stale]:
        """Return the effective targets to compute."""
        change = await self._computing.stale_after(outdated)
        return () if change is None else self._begin(change)

    async def every(self) -> AsyncIterator[Iterable[Stale]]:
        """Yield the effective targets of all policies."""
        yield self._begin(await self._computing.stale_all())

    def owner_of(self, key: Stale) -> str:
        """Return the namespaces of the changes: one with many effective targets delays another by one query."""
        return key.owner

    def take(self, stale: Turns[Stale]) -> Iterable[Sequence[Stale]]:
        """Return as many effective targets as OPA computes at once."""
        return [self._computing.take(stale)]

    async def compute(self, keys: Sequence[Stale]) -> None:
        """Compute outcomes, and write the statuses of changes that are settled."""
        for change in await self._computing.compute(keys):
            self._report(change)
        self._take_hard()

    def distrust(self) -> None:
        """Write nothing until all outcomes are known again."""
        self._idle.clear()
        self._reported.clear()
        self._computing.clear()

    def settle(self, revision: int) -> None:  # noqa: ARG002
        """Write what waits."""
        self._idle.clear()
        self._queue.look_again()
        self._note_idle()

    def _count_observed(self) -> None:
        observes = bool(self._followers)
        if observes != self._computing.observes:
            self._computing.observes = observes
            self._loop.hear(self, Notice(kinds=True))

    def _begin(self, change: Settling) -> list[Stale]:
        """Return the effective targets of a change, which is reported if there are none."""
        if self._computing.end_if_settled(change):
            self._report(change)
        return self._computing.stale_of(change)

    async def _compute_alone(self) -> None:
        """Compute targets at which a query failed, each alone, and with growing waits while one takes too long."""
        while True:
            (place,) = await self._alone.take(1)
            too_slow: list[str] = []
            with self._working():
                try:
                    settled = await self._computing.compute_alone(place, too_slow)
                except OpaError as error:
                    log.info("effective policies waiting for OPA", why=str(error))
                    self._alone.failed(place)
                    continue
                if too_slow:
                    self._alone.failed(place)
                else:
                    self._alone.succeeded(place)
                for change in settled:
                    self._report(change)
                self._take_hard()

    def _take_hard(self) -> None:
        self._alone.add(self._computing.hard)
        self._computing.hard.clear()

    def _report(self, change: Settling) -> None:
        """Let statuses be written that a settled change affects."""
        if change.rebuilds and change.outdated is None:
            self._whole = self._loop.epoch
        traces = change.outdated.traces if change.outdated else ()
        self._report_dirty(change.dirty, change.reports, traces, change.changed)

    def _report_dirty(
        self,
        dirty: Dirty,
        reports: Mapping[Item, Report] = MappingProxyType({}),
        traces: tuple[Any, ...] = (),
        changed: AbstractSet[str] = frozenset(),
    ) -> None:
        items = [
            *(("policy", key) for key in sorted(dirty.policies)),
            *(("object", key) for key in sorted(dirty.objects)),
        ]
        if traces:
            self._traces.update(dict.fromkeys(items, traces))
        self._add(items, reports, changed)
        self._queue.look_again()
        for follower in self._followers:
            follower(frozenset(dirty.policies))

    async def _remember(self) -> None:
        """Store the names of marks for a later bridge; remove marks of former kinds."""
        while True:
            recalled, names = list(self._sink.recall()), self._computing.names()
            if self._is_whole and self._may_write() and recalled != names:
                gone = [former for former in recalled if former not in names]
                dirty = Dirty()
                with self._working():
                    try:
                        await self._computing.retire(gone, dirty)
                    except OpaError as error:
                        log.info("cleanup of former policy kinds waiting for OPA", why=str(error))
                    else:
                        self._sink.remember(self._computing.names())
                        self._report_dirty(dirty)
            await asyncio.sleep(REMEMBER_PERIOD)

    async def _plan(self, batch: Sequence[Item]) -> dict[Item, Planned | None]:
        slow: set[Item] = set()
        clock = asyncio.get_running_loop().time  # tests stop it
        began = clock()
        links = [trace for item in batch for trace in self._traces.get(item, ())]
        with tracing.span("plan statuses", links=links) if links else nullcontext():
            planned = await self._find_differences(batch, slow)
        self._batch.learn(len(batch), clock() - began)
        for item in batch:
            if item not in planned and item not in slow:
                self._traces.pop(item, None)
        return {**dict.fromkeys(slow), **planned}

    def _log_delay(self, error: OpaError) -> None:
        log.info("statuses waiting for OPA", why=str(error))

    def _has_work(self) -> bool:
        return not self._loop.is_settled(self) or self._computing.is_settling

    def _limit(self) -> int:
        return min(self._batch.now, max(self._ahead, self._budget.permits_within(BUDGET_AHEAD)))

    @property
    def _ahead(self) -> int:
        """The writes to plan at once where the budget delays them: a query for each would cost more than the writes."""
        return min(WRITERS // 2, self._budget.permits_of(BUDGET_AHEAD))

    def _may_write(self) -> bool:
        return self._sink.may_write()

    def _fits(self, item: Item) -> bool:
        """Return whether a status now would match the object as in OPA, and could be written.

        While everything is computed, that is the case only for what OPA has reported with a change.
        """
        known = item in self._reported or (self._is_whole and not self._computing.partial)
        return known and self._delayed < self._ahead and super()._fits(item) and not self._computing.is_waiting(item[1])

    def _set_aside(self) -> None:
        self._reported.clear()

    def _settle(self) -> None:
        if self._computing.former:  # none of their marks are left
            self._computing.former.clear()
            self._sink.remember(self._computing.names())

    async def _find_differences(self, batch: Sequence[Item], slow: set[Item]) -> dict[Item, Planned]:
        """Return the writes of items that differ.

        Items that take too long to compute are added to `slow`.
        """
        reports = await self._query_reports(batch, slow)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        planned: dict[Item, Planned] = {}
        again: set[Item] = set()  # items that were reported before all their policies were known
        for what, key in batch:
            if what == "policy" and (what, key) not in slow:
                report = reports.get((what, key))
                unreported = report["desired"].get("unreported", ()) if report and "desired" in report else ()
                again |= {
                    ("object", key) for key in self._ledger.report(parse_key(key).type_id, key, unreported).objects
                }
        self._add(sorted(again))
        for item, report in reports.items():
            if "desired" in report and item not in again:
                what, key = item
                current = {name: as_mapping(report["current"][name]) for name in ("status", "annotations")}
                seen = self._sink.overlay(parse_key(key), current)
                patch = (plan_policy if what == "policy" else plan_affected)(seen, report["desired"], now)
                if patch is not None:
                    planned[item] = Planned(key, patch, report["current"]["resourceVersion"])
        return planned

    async def _query_reports(self, batch: Sequence[Item], slow: set[Item]) -> dict[Item, Report]:
        """Return the desired and current status of each item without a report from the change."""
        reports = {item: self._reported.pop(item) for item in batch if item in self._reported}
        # A report from the change lacks the policies whose full status omits this object: the query here includes them.
        missing = [item for item in batch if item not in reports or self._ledger.unreported(item[1])]
        if not missing:
            return reports
        objects = [key for what, key in missing if what == "object"]
        values = {
            "tallies": {key: self._ledger.tallies(key) for what, key in missing if what == "policy"},
            "affectedBy": {key: self._ledger.marks_on(key) for key in objects},
            "unreported": {key: self._ledger.unreported(key) for key in objects},
            "former": self._computing.former,
        }
        async for _, answer in parts(self._opa, "reports", "items", missing, values, " ".join, slow.add):
            reports |= {(report["item"][0], report["item"][1]): report for report in answer}
        return reports

    def _add(
        self,
        items: Iterable[Item],
        reports: Mapping[Item, Report] = MappingProxyType({}),
        changed: AbstractSet[str] = frozenset(),
    ) -> None:
        """Queue these items for a write. Ignore their earlier reports.

        The statuses of objects that somebody has just `changed` come before their namespace's others: an initial sync,
        or a policy of a Gateway, can leave thousands of these.
        """
        for item in items:
            if item in reports:
                self._reported[item] = reports[item]
            else:
                self._reported.pop(item, None)
            self._queue.add([item], first=item[1] in changed)

    async def _patch(self, item: Item, planned: Planned) -> bool:
        links = self._traces.pop(item, ())
        with tracing.span("patch status", kind="client", links=links, attributes={"policy_bridge.object": item[1]}):
            written = await super()._patch(item, planned)
        if written:
            log.debug("status written", object=item[1], what=item[0])
        return written
