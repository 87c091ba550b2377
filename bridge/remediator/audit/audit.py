"""The audit: violations of Constraints by existing objects, updated with OPA, and reported in their statuses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import structlog

from bridge.model.keys import Key, parse_key
from bridge.model.notice import Notice
from bridge.model.types import CONSTRAINT
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.pacing import Budget
from bridge.remediator.audit.violations import Audited
from bridge.remediator.sink import StatusSink
from bridge.remediator.statuses.plan import plan_constraint
from bridge.remediator.writer import RetryQueue, write_one

log = structlog.get_logger(__name__)

PERIOD = 300.0  # seconds after which everything is evaluated again: a policy may read other objects too
LOOK = 1.0  # seconds between checks whether OPA has other policies
AWAY_DELAY = 0.5  # seconds before a query is retried
STATUS_BATCH = 50  # Constraints of a query


class Audit:
    """Follows the replicator's notices; `run` works until it is cancelled.

    `replicated` returns the types of objects (`<group>/<Kind>`) that the audit covers, None for all.
    """

    def __init__(
        self,
        opa: Opa,
        sink: StatusSink,
        budget: Budget,
        replicated: Callable[[], Collection[str] | None] = lambda: None,
        period: float = PERIOD,
    ) -> None:
        self.writes = 0
        self._opa = opa
        self._sink = sink
        self._budget = budget
        self._replicated = replicated
        self._period = period
        self._audited = Audited(opa)
        self._queue: RetryQueue[str] = RetryQueue()  # names of Constraints whose status may differ
        self._notices: list[Notice] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._writing = 0
        self._filling = 0  # number of full syncs of OPA
        self._whole = -1  # the full sync after which everything was evaluated
        self._revision: str | None = None  # of the policies with which everything was evaluated
        self._due = 0.0  # the time of the next full evaluation

    def note(self, notice: Notice) -> None:
        """Process a notice of the replicator."""
        if notice.refilling:
            self._filling += 1
            self._notices.clear()
            self._audited.forget()
        else:
            self._notices.append(notice)
        self._idle.clear()
        self._wake.set()

    @property
    def waiting(self) -> int:
        """Return the number of waiting statuses of Constraints."""
        return len(self._queue)

    @property
    def results(self) -> Mapping[str, int]:
        """Return the results of writes (`bridge.remediator.writer.RESULTS`)."""
        return self._queue.results

    @property
    def audited(self) -> Audited:
        """Return the violations, and the waiting objects."""
        return self._audited

    async def settled(self) -> None:
        """Wait until everything is evaluated and written."""
        await self._idle.wait()

    async def run(self) -> None:
        """Evaluate and write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._judge())
            tasks.create_task(self._look())
            tasks.create_task(self._write())

    async def _judge(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._notices or self._audited.waiting:
                filling = self._filling
                try:
                    while self._notices:
                        notice = self._notices[0]
                        if notice.refilled:
                            await self._remember_policies()
                        await self._audited.take(notice)
                        if self._notices and self._notices[0] is notice:  # otherwise OPA is being synced again
                            self._notices.pop(0)
                    await self._audited.judge_some()
                except OpaError as error:
                    log.info("the audit waits for OPA", why=str(error))
                    await asyncio.sleep(AWAY_DELAY)
                    continue
                if filling == self._filling and not self._audited.waiting:
                    self._whole = filling
                self._queue.add(self._audited.take_differing())
            self._note_idle()

    async def _look(self) -> None:
        """Evaluate everything again if OPA has other policies, and once a period."""
        while True:
            await asyncio.sleep(LOOK)
            if self._whole != self._filling or self._audited.waiting or not self._audited.needed:
                continue
            try:
                if await self._opa.bundle_revision() != self._revision or time.monotonic() >= self._due:
                    self._idle.clear()
                    await self._remember_policies()
                    await self._audited.again()
                    self._wake.set()
            except OpaError as error:
                log.info("the audit waits for OPA", why=str(error))

    async def _remember_policies(self) -> None:
        """Note the current policies before evaluating everything."""
        self._revision = await self._opa.bundle_revision()
        self._due = time.monotonic() + self._period

    async def _write(self) -> None:
        while True:
            self._note_idle()
            names = await self._queue.take(STATUS_BATCH)
            self._writing += 1
            if self._may_write():
                try:
                    await self._write_batch(names)
                except OpaError as error:
                    log.info("statuses of Constraints wait for OPA", why=str(error))
                    for name in names:
                        self._queue.failed(name)
            else:
                await asyncio.sleep(AWAY_DELAY)
                self._queue.add(names)
            self._writing -= 1

    async def _write_batch(self, names: list[str]) -> None:
        filling, keys = self._filling, {name: str(_key(name)) for name in names}
        replicated = self._replicated()
        asked: dict[str, Any] = {"constraints": names, "counted": {name: self._audited.counted(name) for name in names}}
        if replicated is not None:
            asked["replicated"] = sorted(replicated)
        wanted = {entry["constraint"]: entry for entry in await self._opa.query("constraints", asked)}
        shown = await self._opa.query("current_statuses", {"objects": list(keys.values())})
        if filling != self._filling:
            self._queue.add(names)
            return
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for name in names:
            patch = None
            if name in wanted and keys[name] in shown:
                seen = self._sink.overlay(_key(name), shown[keys[name]])
                patch = plan_constraint(seen, wanted[name], now)
            if patch is None:
                self._queue.succeeded(name)
            else:
                await self._write_one(name, patch, shown[keys[name]]["resourceVersion"])

    async def _write_one(self, name: str, patch: dict[str, Any], resource_version: str) -> None:
        await self._budget.spend()
        if not self._may_write():
            self._queue.add([name])
        elif await write_one(self._sink, self._queue, name, (str(_key(name)), patch, resource_version)):
            self.writes += 1

    def _may_write(self) -> bool:
        return self._whole == self._filling and self._sink.may_write()

    def _note_idle(self) -> None:
        busy = self._notices or self._audited.waiting or self._writing or len(self._queue)
        if self._whole == self._filling and not busy:
            self._idle.set()


def _key(name: str) -> Key:
    return parse_key(f"{CONSTRAINT}/-/{name}")
