"""Updates objects of configured kinds to the placement decision: evaluated in batches, with only differences written.

the object changed ---------------------> evaluate it other data changed, a minute has passed -> evaluate all objects (a
sweep; at most a fifth of the time) the policy changed ---------------------> evaluate all objects immediately
evaluated, and differs ------------------> evaluate once more, wait for the budget, patch from that version
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence

import structlog

from bridge.model.changes import Notice
from bridge.model.keys import namespace_in
from bridge.model.observability import Record, record_nothing
from bridge.model.placement import Placed, annotation_text
from bridge.opa.batches import batches
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.pacing import Budget
from bridge.remediator.placement.decisions import Deciding
from bridge.remediator.placement.judgement import FAILED, MOST, Flips, Judging, Plan, Reports
from bridge.remediator.sink import StatusSink
from bridge.remediator.writer import AWAY_DELAY, Planned, RetryQueue, WriteLoop, write_one

log = structlog.get_logger(__name__)

BATCH = 500  # objects of a query: more gain nothing, and a failure costs more
WRITE_BATCH = 20  # planned writes: each object is evaluated once more, so no write waits long for its turn
DEBOUNCE = 0.05  # seconds in which changes gather before a sweep
IDLE_SHARE = 4  # after a sweep the next one waits for this multiple of its duration, unless the policy changed
PERIOD = 60.0  # seconds between sweeps without changes: the decision may read the time, or data of others
LOOK = 0.5  # seconds between checks of OPA's revisions


class Placement(WriteLoop[str]):
    """Follows the replicator's notices; `run` works until it is cancelled.

    `placed` are the kinds, `budget` bounds the patches per second, `record` gets the Events, and an object that was
    patched `most_patches` times within a minute is not patched further. `counts` has actions and reports, by name.
    """

    def __init__(
        self,
        opa: Opa,
        sink: StatusSink,
        placed: Iterable[Placed],
        budget: Budget,
        record: Record = record_nothing,
        most_patches: int = MOST,
    ) -> None:
        super().__init__(sink, budget, namespace_in)
        self._kinds = {one.type_id: one for one in placed if one.mode != "Off"}
        self._deciding = Deciding(opa)
        self._reports = Reports(record)
        self._flips = Flips(most_patches)
        self._judging = Judging(self._deciding, sink, self._kinds, self._flips, self._reports)
        self._changed: RetryQueue[str] = RetryQueue(namespace_in)  # objects to evaluate
        self._plans: dict[str, Plan] = {}  # of planned writes
        self._stale: set[str] = set()  # types whose objects must all be evaluated
        self._wake = asyncio.Event()  # a type is stale
        self._hurry = asyncio.Event()  # because the policy has changed
        self._revisions: dict[str, str] = {}
        self._policy = 0  # number of policy changes

    @property
    def counts(self) -> Counter[str]:
        """Return the number of evaluated and patched objects, and of reports, by name."""
        return self._reports.counts

    @property
    def to_judge(self) -> int:
        """Return the number of objects that wait for evaluation."""
        return len(self._changed)

    def limit(self, rate: float, most_patches: int) -> None:
        """Use these limits from now on: patches per second, and patches of one object per minute."""
        self._budget.change(rate)
        self._flips.most = most_patches

    def note(self, notice: Notice) -> None:
        """Process a notice of the replicator."""
        if not self._kinds:
            return
        if notice.refilling:
            self._filling += 1
            self._idle.clear()
        elif notice.refilled:
            self._whole = self._filling
            self._sweep_soon(self._kinds)
        else:
            for key in (*notice.keys, *notice.reported):
                if key.type_id in self._kinds:
                    self._changed.add([str(key)])
                    self._idle.clear()
                self._sweep_soon(self._kinds.keys() - {key.type_id})

    def policy_changed(self) -> None:
        """Evaluate everything immediately, also stopped objects, because the policy has changed."""
        self._policy += 1
        for key in self._flips.resume_all():
            log.info("placement resumed after policy change", object=key)
        self._sweep_soon(self._kinds)
        self._hurry.set()

    async def run(self) -> None:
        """Evaluate and write until cancelled; without kinds there is nothing to do."""
        if not self._kinds:
            self._idle.set()
            return
        async with asyncio.TaskGroup() as tasks:
            for work in (self._sweep, self._judge_changed, self._write, self._look):
                tasks.create_task(work())

    def _sweep_soon(self, types: Iterable[str]) -> None:
        self._stale.update(types)
        if self._stale:
            self._idle.clear()
            self._wake.set()

    async def _sweep(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            try:
                async with asyncio.timeout(PERIOD):
                    await self._wake.wait()
            except TimeoutError:
                self._sweep_soon(self._kinds)
            await asyncio.sleep(DEBOUNCE)
            await self._may_begin()
            self._wake.clear()
            self._hurry.clear()
            types, self._stale = self._stale, set()
            began = clock()
            with self._working():
                done = await self._sweep_all(types)
            if not done:
                self._sweep_soon(types)
                await asyncio.sleep(AWAY_DELAY)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(IDLE_SHARE * (clock() - began)):
                    await self._hurry.wait()

    async def _sweep_all(self, types: Iterable[str]) -> bool:
        try:
            for type_id in sorted(types):
                keys = await self._deciding.keys(type_id)
                for batch in batches(keys, BATCH):
                    self._queue.add(await self._judging.judge(batch))
        except OpaError as error:
            log.info("placement waiting for OPA", why=str(error))
            return False
        return True

    async def _judge_changed(self) -> None:
        while True:
            batch = await self._changed.take(BATCH)
            with self._working():
                await self._may_begin()
                try:
                    self._queue.add(await self._judging.judge(batch))
                except OpaError as error:
                    log.info("placement waiting for OPA", why=str(error))
                    self._changed.add(batch)
                    await asyncio.sleep(AWAY_DELAY)

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
        plans = await self._judging.plans(batch)
        now = asyncio.get_running_loop().time()
        for key in [key for key in plans if self._flips.flips(key, now)]:
            await self._judging.stop(key, plans.pop(key), now)
        self._plans |= plans
        return {
            key: Planned(key, {"metadata": {"annotations": plan.changes}}, plan.decided.version)
            for key, plan in plans.items()
        }

    def _log_delay(self, error: OpaError) -> None:
        log.info("placement waiting for OPA", why=str(error))

    def _computes(self) -> bool:
        return bool(self._stale or len(self._changed))

    def _limit(self) -> int:
        return max(1, WRITE_BATCH - len(self._writers))

    def _fits(self, item: str) -> bool:
        return len(self._writers) < WRITE_BATCH and super()._fits(item)

    def _basis(self) -> tuple[int, int]:
        return self._filling, self._policy

    async def _patch(self, item: str, planned: Planned) -> bool:
        plan = self._plans.pop(item)

        def refused(key: str, why: str) -> None:
            self._reports("Write", key, plan.decided.object, FAILED, why)

        written = await write_one(self._sink, self._queue, item, planned, refused)
        if written:
            self._flips.patched(item, plan.changes, asyncio.get_running_loop().time())
            self.counts["patched"] += 1
            log.info("object placed", object=item, annotations=annotation_text(plan.changes))
            self._reports.fine(item)
        return written

    async def _may_begin(self) -> None:
        """Wait until OPA is synced and this bridge writes. Another one reports and writes until then."""
        while not self._may_write():  # noqa: ASYNC110 (the Lease has no event here)
            await asyncio.sleep(AWAY_DELAY)
