"""The audit: violations of Constraints by existing objects, updated with OPA, and reported in their statuses."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

import structlog

from bridge.model.changes import Notice
from bridge.model.keys import Key, namespace_in, parse_key
from bridge.model.types import CONSTRAINT, GUARDRAIL_PREFIX
from bridge.opa.batches import in_parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaUndefined
from bridge.opa.judging import BATCH, Judging, Row
from bridge.remediator.plan import plan_constraint
from bridge.remediator.writer import Planned, StatusSink, WriteLoop
from bridge.work import PAUSE, Budget

EXEMPT = "policybridge.io"  # the group whose objects no Constraint matches
NAMESPACE = "core/Namespace"
SHOWN = 20  # violations that a status has


def counts(row: Mapping[str, Any]) -> bool:
    """Return whether a violation counts: no exemption names it."""
    return "exemption" not in row


class Audited:
    """The violations by Constraint and object; `judge_some` evaluates a batch of the waiting objects."""

    def __init__(self, opa: Opa) -> None:
        self._opa = opa
        self._judging = Judging(opa)
        self._found: dict[str, dict[str, list[Row]]] = {}
        # Objects to evaluate, each with these Constraints only, or (None) with all.
        self._waiting: dict[str, frozenset[str] | None] = {}
        self._active: set[str] = set()
        self._guardrails: set[str] = set()  # active Constraints that judge what is in effect at objects
        self._differing: set[str] = set()
        self.judged = 0  # evaluations of objects
        self._begun: set[str] = set()  # Constraints whose evaluation is incomplete, and not reported
        self._changed: set[str] | None = (
            None  # objects that changed, or their violations, since take_changed; None: any
        )
        self.revision = 0  # grows when the violations may differ

    @property
    def needed(self) -> bool:
        """Whether any Constraint is active."""
        return bool(self._active)

    @property
    def waiting(self) -> int:
        """Return the number of objects to evaluate."""
        return len(self._waiting)

    @property
    def violations(self) -> Counter[tuple[str, str]]:
        """Return the number of violations by Constraint and action, `exempt` among these."""
        every = (rows for found in self._found.values() for rows in found.values())
        return Counter((row["constraint"], row["enforcementAction"]) for rows in every for row in rows)

    @property
    def violating(self) -> Counter[tuple[str, str]]:
        """Return the number of objects with violations, without exempted ones, by Constraint and namespace."""
        return Counter(
            (name, namespace_in(key))
            for name, found in self._found.items()
            for key, rows in found.items()
            if any(map(counts, rows))
        )

    def forget(self) -> None:
        """Drop everything, because OPA is synced again."""
        self.revision += 1
        self._found.clear()
        self._active.clear()
        self._guardrails.clear()
        self._waiting.clear()
        self._differing.clear()
        self._begun.clear()
        self._changed = None

    def all_rows(self) -> Iterator[Row]:
        """Return all violations, also exempted ones, in the form of the query `violations`."""
        for found in self._found.values():
            yield from chain.from_iterable(found.values())

    def counted(self, name: str) -> dict[str, Any]:
        """Return the violations of one Constraint, `{total, first, exempted}`.

        These are their number, the first in a stable order, and the number of exempted ones by their exemption's.
        """
        found = self._found.get(name, {})
        every = [row for key in sorted(found) for row in found[key]]
        rows = [row for row in every if counts(row)]
        exempted = Counter(str(row["exemption"]["number"]) for row in every if not counts(row))
        return {"total": len(rows), "first": rows[:SHOWN], "exempted": exempted}

    def take_differing(self) -> list[str]:
        """Return the Constraints whose status may differ since the last call, after their complete evaluation."""
        if not self._waiting:
            self._begun.clear()
        ready = sorted(self._differing - self._begun)
        self._differing.difference_update(ready)
        return ready

    def objects(self) -> set[str]:
        """Return the objects with violations."""
        return {key for found in self._found.values() for key in found}

    def rows_of(self, key: str) -> list[Row]:
        """Return the violations by an object, without exempted ones."""
        found = (self._found[name].get(key, ()) for name in sorted(self._found))
        return [row for rows in found for row in rows if counts(row)]

    def take_changed(self) -> set[str] | None:
        """Return the objects that may have changed since the last call, or whose violations may; None: any."""
        changed, self._changed = self._changed, set()
        return changed

    def _note_changed(self, keys: Iterable[str]) -> None:
        self.revision += 1
        if self._changed is not None:
            self._changed.update(keys)

    async def take(self, notice: Notice) -> None:
        """Process a change. Raises OpaError; then call it again."""
        if notice.refilled:
            await self.again()
            return
        changed = [key.name for key in notice.keys if key.type_id == CONSTRAINT]
        if changed:
            await self._judge_whole(changed)
        # Another writer may have changed the status of a Constraint.
        self._differing.update(key.name for key in notice.reported if key.type_id == CONSTRAINT)
        if not self._active:
            return
        namespaces = [key.name for key in notice.keys if key.type_id == NAMESPACE]
        if namespaces:
            for name, keys in (await self._opa.query("audit_keys", {"namespaces": namespaces})).items():
                self._add(keys, frozenset([name]))
        touched = [key for key in (*notice.keys, *notice.reported) if key.group != EXEMPT]
        self._add(map(str, touched), None)
        if self._changed is not None:
            self._changed.update(map(str, touched))
        if self._guardrails:
            await self._judge_affected(notice)

    async def _judge_affected(self, notice: Notice) -> None:
        """Let guardrails judge the objects where a change may alter what is in effect."""
        if notice.kinds:
            await self._judge_whole(self._guardrails)
            return
        was = {str(key): paths for key, paths in notice.was.items()}
        keys = [str(key) for key in notice.keys if key.type_id != CONSTRAINT]
        # Undefined until OPA has the guardrail; then everything is evaluated.
        with contextlib.suppress(OpaUndefined):
            for _, affected in await in_parts(self._opa, "guarded", "keys", keys, {"was": was}):
                self._add(affected, frozenset(self._guardrails))

    async def again(self) -> None:
        """Evaluate everything, for example after a change of the policies. Raises OpaError."""
        self._judging = Judging(self._opa)
        constraints = await self._opa.query("constraints", {})
        await self._judge_whole([entry["constraint"] for entry in constraints])

    async def judge_some(self) -> None:
        """Evaluate a batch of the waiting objects. Raises OpaError; then they wait again."""
        if not self._waiting:
            return
        names = next(iter(self._waiting.values()))
        keys = list(islice((key for key, wanted in self._waiting.items() if wanted == names), BATCH))
        for key in keys:
            del self._waiting[key]
        try:
            rows = await self._judging.rows(keys, None if names is None else sorted(names))
        except BaseException:
            for key in keys:
                self._add([key], names)
            raise
        self.judged += len(keys)
        self._replace(keys, names, rows)

    async def _judge_whole(self, names: Iterable[str]) -> None:
        names = list(names)
        audited = await self._opa.query("audit_keys", {"constraints": names})
        self._active.difference_update(names)
        self._active.update(audited)
        self._guardrails.difference_update(names)
        if audited:
            entries = await self._opa.query("constraints", {"constraints": names})
            guardrails = {one["constraint"] for one in entries if one["policy"].startswith(GUARDRAIL_PREFIX)}
            self._guardrails |= guardrails & self._active
        for name in names:
            keys = dict.fromkeys(audited.get(name, []))
            found = self._found.pop(name, {})
            kept = {key: rows for key, rows in found.items() if key in keys}
            self._note_changed(found.keys() - kept.keys())
            if kept:
                self._found[name] = kept
            self._add(keys, frozenset([name]))
        self._begun.update(names)
        self._differing.update(names)

    def _add(self, keys: Iterable[str], names: frozenset[str] | None) -> None:
        for key in keys:
            before = self._waiting.get(key, names)
            self._waiting[key] = None if before is None or names is None else before | names

    def _replace(self, keys: Iterable[str], names: frozenset[str] | None, rows: list[Row]) -> None:
        fresh: dict[str, dict[str, list[Row]]] = {}
        for row in rows:
            fresh.setdefault(row["constraint"], {}).setdefault(row["object"], []).append(row)
        expected = set(keys)
        for name in (self._found.keys() | fresh.keys()) if names is None else names:
            found = self._found.setdefault(name, {})
            for key in expected:
                new = fresh.get(name, {}).get(key)
                if new != found.get(key):
                    self._differing.add(name)
                    self._note_changed([key])
                    if new is None:
                        del found[key]
                    else:
                        found[key] = new
            if not found:
                del self._found[name]


log = structlog.get_logger(__name__)

PERIOD = 300.0  # seconds after which everything is evaluated again: a policy may read other objects too
LOOK = 1.0  # seconds between checks whether OPA has other policies


class Audit(WriteLoop[str]):
    """Follows the replicator's notices; `run` works until it is cancelled. Its items are names of Constraints.

    `replicated` returns the types of objects (`<group>/<Kind>`) that the audit covers, None for all.
    """

    def __init__(
        self,
        opa: Opa,
        sink: StatusSink,
        budget: Budget,
        replicated: Callable[[], Collection[str] | None] = lambda: None,
    ) -> None:
        super().__init__(sink, budget)
        self._opa = opa
        self._replicated = replicated
        self.audited = Audited(opa)
        self._notices: list[Notice] = []
        self._wake = asyncio.Event()
        self._follow: Callable[[Collection[str] | None], None] = lambda _: None
        self._begun = -1  # the sync whose objects are evaluated
        self._revision: str | None = None  # of the policies with which everything was evaluated
        self._due = 0.0  # the time of the next full evaluation

    def note(self, notice: Notice) -> None:
        """Process a notice of the replicator."""
        if notice.refilling:
            self._filling += 1
            self._notices.clear()
            self.audited.forget()
        else:
            self._notices.append(notice)
        self._idle.clear()
        self._wake.set()

    def listen(self, follow: Callable[[Collection[str] | None], None]) -> None:
        """Call `follow` after each whole evaluation with the result of `Audited.take_changed`."""
        self._follow = follow

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
            while self._notices or self.audited.waiting:
                try:
                    while self._notices:
                        notice = self._notices[0]
                        if notice.refilled:
                            self._begun = self._filling
                            await self._remember_policies()
                        await self.audited.take(notice)
                        if self._notices and self._notices[0] is notice:  # otherwise OPA is being synced again
                            self._notices.pop(0)
                    await self.audited.judge_some()
                except OpaError as error:
                    log.info("audit waiting for OPA", why=str(error))
                    await asyncio.sleep(PAUSE)
                    continue
                if not self.audited.waiting:
                    self._whole = self._begun
                    if self._is_whole and (changed := self.audited.take_changed()) != set():
                        self._follow(changed)
                self._queue.add(self.audited.take_differing())
            self._note_idle()

    async def _look(self) -> None:
        """Evaluate everything again if OPA has other policies, and once a period."""
        while True:
            await asyncio.sleep(LOOK)
            if self._whole != self._filling or self.audited.waiting or not self.audited.needed:
                continue
            try:
                if await self._opa.bundle_revision() != self._revision or time.monotonic() >= self._due:
                    self._idle.clear()
                    await self._remember_policies()
                    await self.audited.again()
                    self._wake.set()
            except OpaError as error:
                log.info("audit waiting for OPA", why=str(error))

    async def _remember_policies(self) -> None:
        """Note the current policies before evaluating everything."""
        self._revision = await self._opa.bundle_revision()
        self._due = time.monotonic() + PERIOD

    async def _plan(self, batch: Sequence[str]) -> dict[str, Planned | None]:
        keys = {name: str(_key(name)) for name in batch}
        replicated = self._replicated()
        query_input: dict[str, Any] = {
            "constraints": list(batch),
            "counted": {name: self.audited.counted(name) for name in batch},
        }
        if replicated is not None:
            query_input["replicated"] = sorted(replicated)
        wanted = {entry["constraint"]: entry for entry in await self._opa.query("constraints", query_input)}
        current = await self._opa.query("current_statuses", {"objects": list(keys.values())})
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        planned: dict[str, Planned | None] = {}
        for name, key in keys.items():
            if name in wanted and key in current:
                seen = self._sink.overlay(_key(name), current[key])
                patch = plan_constraint(seen, wanted[name], now)
                if patch is not None:
                    planned[name] = Planned(key, patch, current[key]["resourceVersion"])
        return planned

    def _log_delay(self, error: OpaError) -> None:
        log.info("Constraint statuses waiting for OPA", why=str(error))

    def _has_work(self) -> bool:
        return bool(self._notices or self.audited.waiting)


def _key(name: str) -> Key:
    return parse_key(f"{CONSTRAINT}/-/{name}")
