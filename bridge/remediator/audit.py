"""The audit: violations of Constraints by existing objects, updated with OPA, and reported in their statuses."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import structlog

from bridge.derived.loop import Derived, Loop, Outdated
from bridge.model.changes import Notice
from bridge.model.keys import Key, namespace_in, parse_key
from bridge.model.types import CONSTRAINT, GUARDRAIL_PREFIX
from bridge.opa.batches import SKIP_MISSING
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.opa.judging import BATCH, Judging, Row
from bridge.remediator.plan import plan_constraint
from bridge.remediator.write_loop import Planned, StatusSink, WriteLoop
from bridge.work import Budget, Turns

EXEMPT = "policybridge.io"  # the group whose objects no Constraint matches
NAMESPACE = "core/Namespace"
SHOWN = 20  # violations that a status has


def counts(row: Mapping[str, Any]) -> bool:
    """Return whether a violation counts: no exemption names it."""
    return "exemption" not in row


class Audited:
    """The violations by Constraint and object, and the objects to evaluate, each with some Constraints or with all."""

    def __init__(self, opa: Opa) -> None:
        self._opa = opa
        self._judging = Judging(opa)
        self._found: dict[str, dict[str, list[Row]]] = {}
        # Objects to evaluate, each with these Constraints only, or (None) with all.
        self._stale: dict[str, frozenset[str] | None] = {}
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
    def stale(self) -> int:
        """Return the number of objects to evaluate."""
        return len(self._stale)

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
        self._stale.clear()
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
        ready = sorted(self._differing - self._begun)
        self._differing.difference_update(ready)
        return ready

    def complete(self) -> None:
        """Note that no object is stale."""
        self._stale.clear()
        self._begun.clear()

    def objects(self) -> set[str]:
        """Return the objects with violations."""
        return {key for found in self._found.values() for key in found}

    def rows_of(self, key: str) -> list[Row]:
        """Return the violations by an object, without exempted ones."""
        found = (self._found[name].get(key, ()) for name in sorted(self._found))
        return [row for rows in found for row in rows if counts(row)]

    def change_any(self) -> None:
        """Note that any object may have changed."""
        self._changed = None

    def take_changed(self) -> set[str] | None:
        """Return the objects that may have changed since the last call, or whose violations may; None: any."""
        changed, self._changed = self._changed, set()
        return changed

    def _note_changed(self, keys: Iterable[str]) -> None:
        self.revision += 1
        if self._changed is not None:
            self._changed.update(keys)

    def wants(self, change: Notice) -> Mapping[str, Any]:
        """Return the part of the query `outdated` that `stale_after` needs: only guardrails judge what is in effect."""
        return {"guarded": {}} if self._guardrails and not change.kinds else {}

    async def stale_after(self, outdated: Outdated) -> set[str]:
        """Return the objects to evaluate after a change. Raises OpaError; then call it again."""
        change = outdated.change
        stale: set[str] = set()
        changed = [key.name for key in change.keys if key.type_id == CONSTRAINT]
        if changed:
            stale |= await self._stale_of(changed)
        # Another writer may have changed the status of a Constraint.
        self._differing.update(key.name for key in change.reported if key.type_id == CONSTRAINT)
        if not self._active:
            return stale
        namespaces = [key.name for key in change.keys if key.type_id == NAMESPACE]
        if namespaces:
            for name, keys in (await self._opa.query("audit_keys", {"namespaces": namespaces})).items():
                stale |= self._add(keys, frozenset([name]))
        touched = {str(key) for key in (*change.keys, *change.reported) if key.group != EXEMPT}
        if self._changed is not None:
            self._changed |= touched
        stale |= self._add(touched, None)
        if self._guardrails and change.kinds:
            stale |= await self._stale_of(self._guardrails)
        return stale | self._add(outdated.parts.get("guarded", ()), frozenset(self._guardrails))

    async def stale_all(self) -> set[str]:
        """Return all objects to evaluate, for example after a change of the policies. Raises OpaError."""
        self._judging = Judging(self._opa)
        constraints = await self._opa.query("constraints", {})
        return await self._stale_of([entry["constraint"] for entry in constraints])

    async def judge(self, keys: Sequence[str]) -> None:
        """Evaluate stale objects. Raises OpaError; then they are stale again."""
        together: dict[frozenset[str] | None, list[str]] = {}
        for key in keys:
            if key in self._stale:  # otherwise its violations were evaluated meanwhile
                together.setdefault(self._stale.pop(key), []).append(key)
        while together:
            names, group = together.popitem()
            try:
                rows = await self._judging.rows(group, None if names is None else sorted(names))
            except BaseException:
                for waiting, others in {**together, names: group}.items():
                    self._add(others, waiting)
                raise
            self.judged += len(group)
            self._replace(group, names, rows)

    async def _stale_of(self, names: Iterable[str]) -> set[str]:
        """Return the objects of Constraints that must be evaluated as a whole."""
        names = list(names)
        audited = await self._opa.query("audit_keys", {"constraints": names, **SKIP_MISSING})
        self._active.difference_update(names)
        self._active.update(audited)
        self._guardrails.difference_update(names)
        if audited:
            entries = await self._opa.query("constraints", {"constraints": names, **SKIP_MISSING})
            guardrails = {one["constraint"] for one in entries if one["policy"].startswith(GUARDRAIL_PREFIX)}
            self._guardrails |= guardrails & self._active
        stale: set[str] = set()
        for name in names:
            keys = dict.fromkeys(audited.get(name, []))
            found = self._found.pop(name, {})
            kept = {key: rows for key, rows in found.items() if key in keys}
            self._note_changed(found.keys() - kept.keys())
            if kept:
                self._found[name] = kept
            stale |= self._add(keys, frozenset([name]))
        self._begun.update(names)
        self._differing.update(names)
        return stale

    def _add(self, keys: Iterable[str], names: frozenset[str] | None) -> set[str]:
        keys = set(keys)
        for key in keys:
            before = self._stale.get(key, names)
            self._stale[key] = None if before is None or names is None else before | names
        return keys

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


class Audit(WriteLoop[str], Derived[str]):
    """Keeps the violations up to date, by object, and writes the statuses of Constraints, by name.

    `run` works until it is cancelled. `replicated` returns the types of objects (`<group>/<Kind>`) that the audit
    covers, None for all.
    """

    name = "audit"
    period = PERIOD

    def __init__(
        self,
        loop: Loop,
        opa: Opa,
        sink: StatusSink,
        budget: Budget,
        replicated: Callable[[], Collection[str] | None] = lambda: None,
    ) -> None:
        super().__init__(loop, sink, budget)
        self._opa = opa
        self._replicated = replicated
        self.audited = Audited(opa)
        self._follow: Callable[[Collection[str] | None], None] = lambda _: None
        self._revision: str | None = None  # of the policies with which everything was evaluated

    def listen(self, follow: Callable[[Collection[str] | None], None]) -> None:
        """Call `follow` after each whole evaluation with the result of `Audited.take_changed`."""
        self._follow = follow

    async def run(self) -> None:
        """Evaluate and write until cancelled."""
        with self._loop.following(self):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._look())
                tasks.create_task(self._write())

    async def settled(self) -> None:
        """Wait until nothing waits for evaluation or writes."""
        await self._loop.settled(self)
        await super().settled()

    def wants(self, change: Notice, since: float) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the objects that guardrails must judge again."""
        return self.audited.wants(change)

    async def keys_of(self, outdated: Outdated) -> Iterable[str]:
        """Return the objects whose violations a change may affect."""
        return await self.audited.stale_after(outdated)

    async def every(self) -> AsyncIterator[Iterable[str]]:
        """Yield all objects that Constraints match."""
        self._revision = await self._opa.bundle_revision()
        yield await self.audited.stale_all()

    def owner_of(self, key: str) -> str:
        """Return the namespace."""
        return namespace_in(key)

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """Return as many objects as one query evaluates."""
        return [stale.take(BATCH)]

    async def compute(self, keys: Sequence[str]) -> None:
        """Evaluate objects, and write statuses of Constraints whose evaluation is complete."""
        await self.audited.judge(keys)
        self._queue.add(self.audited.take_differing())

    def distrust(self) -> None:
        """Drop all violations, and write nothing until all are known again."""
        self.audited.forget()

    def forget(self) -> None:
        """Note that changes may have been missed."""
        self.audited.change_any()

    def settle(self, revision: int) -> None:  # noqa: ARG002
        """Tell the reports what has changed, and write."""
        self._whole = self._loop.epoch
        self._idle.clear()
        self.audited.complete()
        self._queue.add(self.audited.take_differing())
        if (changed := self.audited.take_changed()) != set():
            self._follow(changed)
        self._note_idle()

    async def _look(self) -> None:
        """Evaluate everything again if OPA has other policies."""
        while True:
            await asyncio.sleep(LOOK)
            if not self._loop.is_settled(self) or not self.audited.needed:
                continue
            try:
                if await self._opa.bundle_revision() != self._revision:
                    self._loop.renew(self)
            except OpaError as error:
                log.info("audit waiting for OPA", why=str(error))

    async def _plan(self, batch: Sequence[str]) -> dict[str, Planned | None]:
        keys = {name: str(_key(name)) for name in batch}
        replicated = self._replicated()
        query_input: dict[str, Any] = {
            **SKIP_MISSING,
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
        return not self._loop.is_settled(self)


def _key(name: str) -> Key:
    return parse_key(f"{CONSTRAINT}/-/{name}")
