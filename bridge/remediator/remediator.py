"""The remediator: what objects should show, compared with what they show, and only the difference written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import structlog

from bridge.model.keys import parse_key
from bridge.model.notice import Notice
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.remediator.computing import Computing
from bridge.remediator.ledger import Ledger
from bridge.remediator.plan import plan_affected_status, plan_policy_status
from bridge.remediator.queue import Budget, RetryQueue
from bridge.remediator.sink import Conflict, Gone, StatusSink, WriteRefused

log = structlog.get_logger(__name__)

STATUS_BATCH = 100  # policies or objects a query
WRITERS = 8  # writes under way at once
AWAY_DELAY = 0.5  # seconds before OPA is asked again


class Remediator:
    """Follows the replicator's notices; `run` works until it is cancelled.

    `budget` bounds the writes a second. Statuses of policy kinds in mode Observe are computed by nobody and written
    nowhere here: they are there for whoever asks OPA.
    """

    def __init__(self, opa: Opa, sink: StatusSink, budget: Budget) -> None:
        self.writes = 0
        self._opa = opa
        self._sink = sink
        self._budget = budget
        self._ledger = Ledger()
        self._computing = Computing(opa, self._ledger)
        self._queue: RetryQueue[tuple[str, str]] = RetryQueue()  # ("policy" | "object", key)
        self._notices: list[Notice] = []
        self._wake = asyncio.Event()
        self._busy = 0
        self._idle = asyncio.Event()

    def note(self, notice: Notice) -> None:
        """A listener of the replicator."""
        if notice.refilled:
            self._notices.clear()
        self._notices.append(notice)
        self._idle.clear()
        self._wake.set()

    async def settled(self) -> None:
        """Wait until nothing waits to be computed or written."""
        await self._idle.wait()

    async def run(self) -> None:
        """Compute and write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._compute())
            tasks.create_task(self._write())

    async def _compute(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._notices:
                self._busy += 1
                notice = _joined(self._notices)
                self._notices = []
                try:
                    dirty = await self._computing.settle(notice)
                except OpaError as error:
                    log.info("effective policies wait for OPA", why=str(error))
                    self._notices.insert(0, notice)
                    await asyncio.sleep(AWAY_DELAY)
                else:
                    self._queue.add(("policy", key) for key in sorted(dirty.policies))
                    self._queue.add(("object", key) for key in sorted(dirty.objects))
                self._busy -= 1
            self._note_idle()

    async def _write(self) -> None:
        limit = asyncio.Semaphore(WRITERS)
        while True:
            self._note_idle()
            batch = await self._queue.take(STATUS_BATCH)
            self._busy += 1
            if not self._sink.may_write():
                # Another bridge writes. What differs is kept, for the moment when this one has to go on from there.
                await asyncio.sleep(AWAY_DELAY)
                self._queue.add(batch)
                self._busy -= 1
                continue
            try:
                planned = await self._plan(batch)
            except OpaError as error:
                log.info("statuses wait for OPA", why=str(error))
                for item in batch:
                    self._queue.failed(item)
                self._busy -= 1
                continue
            async with asyncio.TaskGroup() as tasks:
                for item in batch:
                    if item in planned:
                        tasks.create_task(self._write_one(item, *planned[item], limit))
                    else:
                        self._queue.succeeded(item)
            self._busy -= 1

    def _note_idle(self) -> None:
        if not self._busy and not self._notices and not len(self._queue):
            self._idle.set()

    async def _plan(self, batch: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[dict[str, Any], str]]:
        """What differs, by item: the part of the status to write, and the version that it was computed from."""
        policies = [key for what, key in batch if what == "policy"]
        objects = [key for what, key in batch if what == "object"]
        tallies = {key: self._ledger.tallies(key) for key in policies}
        acting = {key: self._ledger.acting(key) for key in objects}
        wanted = await self._opa.query("status", {"policies": policies, "tallies": tallies})
        affected = await self._opa.query("affected", {"objects": objects, "acting": acting})
        shown = await self._opa.query("shown", {"objects": [*policies, *objects]})
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        planned: dict[tuple[str, str], tuple[dict[str, Any], str]] = {}
        for entry in wanted:
            if entry["mode"] == "Manage" and entry["policy"] in shown:
                key = entry["policy"]
                part = plan_policy_status(self._status(key, shown[key]), entry, now)
                if part is not None:
                    planned["policy", key] = (part, shown[key]["resourceVersion"])
        for entry in affected:
            if entry["object"] in shown:
                key = entry["object"]
                part = plan_affected_status(self._status(key, shown[key]), entry, now)
                if part is not None:
                    planned["object", key] = (part, shown[key]["resourceVersion"])
        return planned

    def _status(self, key: str, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**shown["status"], **self._sink.overlay(parse_key(key))}

    async def _write_one(
        self, item: tuple[str, str], part: dict[str, Any], resource_version: str, limit: asyncio.Semaphore
    ) -> None:
        await self._budget.spend()
        try:
            async with limit:
                await self._sink.write(parse_key(item[1]), part, resource_version)
        except Gone:
            self._queue.succeeded(item)
        except Conflict:
            self._queue.failed(item)
        except WriteRefused as error:
            log.warning("status cannot be written", object=item[1], why=str(error))
            self._queue.failed(item)
        else:
            self.writes += 1
            self._queue.succeeded(item)


def _joined(notices: list[Notice]) -> Notice:
    """Several notices as one; the oldest `was` of a key counts, since that is what was computed last."""
    if any(notice.refilled for notice in notices):
        return Notice(refilled=True)
    was: dict[Any, Any] = {}
    for notice in notices:
        for key, paths in notice.was.items():
            was[key] = tuple(dict.fromkeys((*was.get(key, ()), *paths)))
    keys = dict.fromkeys(key for notice in notices for key in notice.keys)
    reported = dict.fromkeys(key for notice in notices for key in notice.reported if key not in keys)
    return Notice(tuple(keys), tuple(reported), was)
