"""Updates objects of configured kinds to the placement decision: evaluated in batches, with only differences written.

the object changed ---------------------> evaluate it other data changed, a minute has passed -> evaluate all objects (a
sweep; at most a fifth of the time) the policy changed ---------------------> evaluate all objects immediately
evaluated, and differs ------------------> evaluate once more, wait for the budget, patch from that version
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import structlog

from bridge.model.annotations import annotation_text
from bridge.model.keys import namespace_in
from bridge.model.notice import Notice
from bridge.model.placement import Placed
from bridge.model.recording import Record, record_nothing
from bridge.opa.batches import batches
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.pacing import Budget
from bridge.remediator.placement.decisions import Deciding
from bridge.remediator.placement.flips import MOST, Flips
from bridge.remediator.placement.judgement import FAILED, Judging, Plan, Telling
from bridge.remediator.sink import StatusSink
from bridge.remediator.writer import RetryQueue, write_one

log = structlog.get_logger(__name__)

BATCH = 500  # objects of a query: more gain nothing, and a failure costs more
WRITE_BATCH = 20  # objects that are evaluated once more before their write, so no write waits long for its turn
DEBOUNCE = 0.05  # seconds in which changes gather before a sweep
IDLE_SHARE = 4  # after a sweep the next one waits for this multiple of its duration, unless the policy changed
PERIOD = 60.0  # seconds between sweeps without changes: the decision may read the time, or data of others
LOOK = 0.5  # seconds between checks of OPA's revisions
AWAY_DELAY = 0.5  # seconds before a retry of OPA, or a check of the Lease


class Placement:
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
        self._kinds = {one.type_id: one for one in placed if one.mode != "Off"}
        self._sink = sink
        self._budget = budget
        self._deciding = Deciding(opa)
        self._tell = Telling(record)
        self._flips = Flips(most_patches)
        self._judging = Judging(self._deciding, sink, self._kinds, self._flips, self._tell)
        self._changed: RetryQueue[str] = RetryQueue(namespace_in)  # objects to evaluate
        self._differing: RetryQueue[str] = RetryQueue(namespace_in)  # objects to write
        self._stale: set[str] = set()  # types whose objects must all be evaluated
        self._wake = asyncio.Event()  # a type is stale
        self._hurry = asyncio.Event()  # because the policy has changed
        self._revisions: dict[str, str] = {}
        self._policy = 0  # number of policy changes
        self._filling = 0  # number of full syncs of OPA
        self._whole = -1  # the last complete sync; writes need the current one
        self._busy = 0
        self._idle = asyncio.Event()

    @property
    def counts(self) -> Counter[str]:
        """Return the number of evaluated and patched objects, and of reports, by name."""
        return self._tell.counts

    @property
    def waiting(self) -> Mapping[str, int]:
        """Return the number of objects that wait for evaluation and for patches."""
        return {"judge": len(self._changed), "patch": len(self._differing)}

    @property
    def results(self) -> Mapping[str, int]:
        """Return the results of patches (`bridge.remediator.writer.RESULTS`)."""
        return self._differing.results

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
            log.info("placed again, as the policy changed", object=key)
        self._sweep_soon(self._kinds)
        self._hurry.set()

    async def settled(self) -> None:
        """Wait until nothing waits for evaluation or writes."""
        await self._idle.wait()

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
                    self._differing.add(await self._judging.judge(batch))
        except OpaError as error:
            log.info("placement waits for OPA", why=str(error))
            return False
        return True

    async def _judge_changed(self) -> None:
        while True:
            batch = await self._changed.take(BATCH)
            with self._working():
                await self._may_begin()
                try:
                    self._differing.add(await self._judging.judge(batch))
                except OpaError as error:
                    log.info("placement waits for OPA", why=str(error))
                    self._changed.add(batch)
                    await asyncio.sleep(AWAY_DELAY)

    async def _look(self) -> None:
        while True:
            with contextlib.suppress(OpaError):
                revisions = await self._deciding.revisions()
                if self._revisions and revisions and revisions != self._revisions:
                    log.info("the policies changed: everything is placed anew")
                    self.policy_changed()
                self._revisions = revisions or self._revisions
            await asyncio.sleep(LOOK)

    async def _write(self) -> None:
        while True:
            batch = await self._differing.take(WRITE_BATCH)
            with self._working():
                await self._may_begin()
                state = (self._filling, self._policy)
                try:
                    plans = await self._judging.plans(batch)
                    for key in batch:
                        if key in plans:
                            await self._write_one(key, plans[key], state)
                        else:
                            self._differing.succeeded(key)
                except OpaError as error:
                    log.info("placement waits for OPA", why=str(error))
                    for key in batch:
                        self._differing.failed(key)

    async def _write_one(self, key: str, plan: Plan, state: tuple[int, int]) -> None:
        now = asyncio.get_running_loop().time()
        if self._flips.flips(key, now):
            await self._judging.stop(key, plan, now)
            self._differing.succeeded(key)
            return
        await self._budget.spend()
        if state != (self._filling, self._policy) or not self._may_write():
            self._differing.add([key])  # its decision does not count anymore
            return
        patch = {"metadata": {"annotations": plan.changes}}

        def refused(_: str, why: str) -> None:
            self._tell("Write", key, plan.decided.object, FAILED, why)

        if await write_one(self._sink, self._differing, key, (key, patch, plan.decided.version), refused):
            self._flips.patched(key, plan.changes, now)
            self.counts["patched"] += 1
            log.info("placed", object=key, annotations=annotation_text(plan.changes))
            self._tell.fine(key)

    def _may_write(self) -> bool:
        return self._whole == self._filling and self._sink.may_write()

    async def _may_begin(self) -> None:
        """Wait until OPA is synced and this bridge writes. Another one reports and writes until then."""
        while not self._may_write():  # noqa: ASYNC110 (the Lease has no event here)
            await asyncio.sleep(AWAY_DELAY)

    @contextlib.contextmanager
    def _working(self) -> Iterator[None]:
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy and not self._stale and not len(self._changed) and not len(self._differing):
                self._idle.set()
