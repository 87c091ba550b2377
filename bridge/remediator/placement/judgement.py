"""The objects that differ from their placement decision, and reports on objects that cannot be placed."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from bridge.model.keys import parse_key
from bridge.model.observability import Record
from bridge.model.placement import Mode, Placed, annotation_text, differing
from bridge.remediator.placement.decisions import Decided, Deciding
from bridge.remediator.sink import StatusSink

WINDOW = 60.0  # seconds
PAUSE = 600.0  # seconds
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

    def patched(self, key: str, names: Collection[str], now: float) -> None:
        """Note that these annotations of an object were patched."""
        known = self._patched.pop(key, None) or _Patched()
        known.at.append(now)
        known.names.update(names)
        self._patched[key] = known  # the last patched one is last
        while (first := next(iter(self._patched))) and self._patched[first].at[-1] <= now - WINDOW:
            del self._patched[first]

    def flips(self, key: str, now: float) -> bool:
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
        self._stopped[key] = _Stopped(now, names, _without(declared, names))
        return tuple(sorted(names))

    def stopped(self, keys: Collection[str]) -> set[str]:
        """Return the stopped objects."""
        return self._stopped.keys() & set(keys)

    def resume(self, key: str, declared: Mapping[str, Any] | None, now: float) -> bool:
        """Return whether a stopped object must be placed again, because it declares something else or time is up."""
        known = self._stopped.get(key)
        if known is None:  # another task has removed it meanwhile
            return True
        if now < known.since + PAUSE and _without(declared, known.names) == known.declared:
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


def _without(declared: Mapping[str, Any] | None, names: Collection[str]) -> Any:
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


class Judging:
    """Evaluates objects of `kinds` (by type), without those that `flips` has stopped."""

    def __init__(
        self, deciding: Deciding, sink: StatusSink, kinds: Mapping[str, Placed], flips: Flips, reports: Reports
    ) -> None:
        self.flips = flips
        self.reports = reports
        self._deciding = deciding
        self._sink = sink
        self._kinds = kinds

    async def judge(self, keys: Sequence[str]) -> list[str]:
        """Report objects that cannot be placed, or would be; return the keys of those to write.

        Raises OpaError, like the others.
        """
        self.reports.counts["judged"] += len(keys)
        plans = await self.plans(keys)
        to_write = []
        for key, plan in plans.items():
            kind = self._kinds[parse_key(key).type_id]
            if kind.mode == "Write":
                to_write.append(key)
            else:
                self.reports(kind.mode, key, plan.decided.object, DIFFERS, annotation_text(plan.changes))
        return to_write

    async def plans(self, keys: Sequence[str]) -> dict[str, Plan]:
        """Return the differences, by key; report objects that cannot be placed, and note the others."""
        keys = await self._without_stopped(keys)
        plans: dict[str, Plan] = {}
        for kind in self._kinds.values():
            chosen = [key for key in keys if parse_key(key).type_id == kind.type_id]
            found = await self._deciding.decide(kind.decision, chosen)
            for key in chosen:
                decided = found.get(key)
                if decided is None:  # deleted, or undefined: nothing to do
                    self.reports.fine(key, gone=True)
                elif decided.failure:
                    self.reports(kind.mode, key, decided.object, FAILED, decided.failure)
                elif decided.decision.errors:
                    self.reports(kind.mode, key, decided.object, DENIED, "; ".join(decided.decision.errors))
                elif changes := differing(self._current(key, decided), decided.decision.annotations):
                    plans[key] = Plan(decided, changes)
                else:
                    self.reports.fine(key)
        return plans

    def _current(self, key: str, decided: Decided) -> dict[str, str]:
        current = {"status": {}, "annotations": decided.annotations}
        return dict(self._sink.overlay(parse_key(key), current)["annotations"])

    async def stop(self, key: str, plan: Plan, now: float) -> None:
        """Stop patching an object, and report it. Raises OpaError."""
        declared = await self._deciding.declared([key])
        names = self.flips.stop(key, declared.get(key), now)
        why = (
            f"{', '.join(names)}: set {self.flips.most} times within a minute, and to be set again: the policy, or "
            f"another writer, flips; left alone for {PAUSE / 60:g} minutes, or until the policy or the object changes"
        )
        self.reports("Write", key, plan.decided.object, STOPPED, why)

    async def _without_stopped(self, keys: Sequence[str]) -> list[str]:
        stopped = self.flips.stopped(keys)
        if not stopped:
            return list(keys)
        declared = await self._deciding.declared(sorted(stopped))
        now = asyncio.get_running_loop().time()
        for key in sorted(stopped):
            if key not in declared:
                self.flips.forget(key)
            elif self.flips.resume(key, declared[key], now):
                log.info("placement resumed", object=key)
            else:
                continue
            stopped.discard(key)
        return [key for key in keys if key not in stopped]
