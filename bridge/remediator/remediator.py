"""The remediator: compares desired and current statuses of objects, and writes only differences."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import structlog

from bridge import tracing
from bridge.model.changes import Notice
from bridge.model.keys import namespace_in, parse_key
from bridge.model.nesting import as_mapping
from bridge.opa.batches import parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.remediator.computation import Computing, Item, Place, Report, Shares
from bridge.remediator.ledger import Dirty, Ledger
from bridge.remediator.plan import plan_affected, plan_policy
from bridge.remediator.writer import Planned, StatusSink, WriteLoop
from bridge.work import PAUSE, WRITERS, BatchSize, Budget, RetryQueue

Follower = Callable[[frozenset[str]], None]

log = structlog.get_logger(__name__)

STATUS_BATCH = 100  # policies or objects of a query
BUDGET_AHEAD = 0.2  # seconds: the budget for one batch, so no namespace waits for another's
REMEMBER_PERIOD = 1.0  # seconds between checks of the data for a later bridge


class Remediator(WriteLoop[Item]):
    """Follows the replicator's notices; `run` works until it is cancelled.

    `budget` bounds the writes per second. Statuses of policy kinds in mode Observe are neither computed nor written
    here: clients query OPA for them.
    """

    def __init__(self, opa: Opa, sink: StatusSink, budget: Budget, patient: Opa | None = None) -> None:
        """`patient` is a client of the same OPA with a longer timeout for queries about everything; default: `opa`."""
        super().__init__(sink, budget, lambda item: namespace_in(item[1]))
        self._opa = opa
        self._ledger = Ledger()
        self.tallies = self._ledger.tallies
        self._computing = Computing(opa, self._ledger, patient)
        self.computed = self._computing.computed
        self._batch = BatchSize(STATUS_BATCH)
        self._slow: RetryQueue[Place] = RetryQueue(lambda place: namespace_in(place[1]))  # took too long to compute
        self._reported: dict[Item, Report] = {}  # of items in the queue, from the query that computed the change
        self._traces: dict[Item, tuple[Any, ...]] = {}  # of items in the queue, the spans that computed them
        self._followers: list[Follower] = []
        self._wake = asyncio.Event()
        self._changes = Shares(self._computing, opa, self._wake.set)

    def note(self, notice: Notice) -> None:
        """Process a notice of the replicator."""
        if notice.refilling:
            self._filling += 1
            self._reported.clear()
        if notice.refilling or notice.refilled:
            self._changes.clear()
        if not notice.refilling:
            self._changes.note(notice)
        self._idle.clear()
        self._wake.set()

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
        return self._is_whole and not self._computing.partial and not self._computing.kinds_differ

    async def run(self) -> None:
        """Compute and write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._compute())
            tasks.create_task(self._compute_slow())
            tasks.create_task(self._write())
            tasks.create_task(self._remember())

    def _count_observed(self) -> None:
        observes = bool(self._followers)
        self._computing.kinds_differ |= observes != self._computing.observes
        self._computing.observes = observes
        if self._is_whole:  # otherwise everything is about to be computed anyway
            self.note(Notice())

    async def _compute(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._changes:
                filling = self._filling
                with self._working():
                    try:
                        settled = await self._changes.step()
                    except OpaError as error:
                        log.info("effective policies waiting for OPA", why=str(error))
                        await asyncio.sleep(PAUSE)
                        continue
                    for place in self._computing.slow:
                        self._slow.failed(place)
                    self._computing.slow.clear()
                    if settled is not None:
                        self._report(settled.dirty, settled.reports, settled.traces, set(map(str, settled.notice.keys)))
                        self._queue.look_again()
                        if settled.notice.refilled:
                            self._whole = filling
                            if self._computing.kinds_differ:  # a follower came meanwhile
                                self.note(Notice())
            self._note_idle()

    async def _compute_slow(self) -> None:
        """Compute targets that took too long again, each alone and with growing waits."""
        while True:
            (place,) = await self._slow.take(1)
            dirty = Dirty()
            try:
                await self._computing.recompute(place, dirty)
            except OpaError as error:
                log.warning("query timed out", key=place[1], policyKind=place[0], why=str(error))
                self._slow.failed(place)
            else:
                self._slow.succeeded(place)
                self._report(dirty)

    def _report(
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
                        self._report(dirty)
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
        return bool(self._changes)

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
        return known and self._delayed < self._ahead and super()._fits(item) and not self._changes.is_waiting(item[1])

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
        """Queue these items for a write. Their earlier reports do not count anymore.

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
