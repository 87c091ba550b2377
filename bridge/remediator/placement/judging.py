"""What differs between objects and what the decision says of them; who cannot be placed is told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from bridge.model.annotations import annotation_text, differing
from bridge.model.keys import parse_key
from bridge.model.placement import Placed
from bridge.remediator.placement.deciding import Decided, Deciding
from bridge.remediator.placement.flips import PAUSE, Flips
from bridge.remediator.placement.telling import DENIED, DIFFERS, FAILED, STOPPED, Telling
from bridge.remediator.sink import StatusSink

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """The annotations to set on an object as it was when it was decided upon."""

    decided: Decided
    changes: dict[str, str]


class Judging:
    """Judges objects of `kinds` (by type), leaving out what `flips` has stopped."""

    def __init__(
        self, deciding: Deciding, sink: StatusSink, kinds: Mapping[str, Placed], flips: Flips, tell: Telling
    ) -> None:
        self.flips = flips
        self.tell = tell
        self._deciding = deciding
        self._sink = sink
        self._kinds = kinds

    async def judge(self, keys: Sequence[str]) -> list[str]:
        """Tell of those that cannot be placed, or would be; the keys of those to write.

        Raises OpaError, as the others do.
        """
        self.tell.counts["judged"] += len(keys)
        plans = await self.plans(keys)
        to_write = []
        for key, plan in plans.items():
            kind = self._kinds[parse_key(key).type_id]
            if kind.mode == "Write":
                to_write.append(key)
            else:
                self.tell(kind.mode, key, plan.decided.object, DIFFERS, annotation_text(plan.changes))
        return to_write

    async def plans(self, keys: Sequence[str]) -> dict[str, Plan]:
        """What differs, by key; what cannot be placed is told, what is as it should be is noted."""
        keys = await self._without_stopped(keys)
        plans: dict[str, Plan] = {}
        for kind in self._kinds.values():
            chosen = [key for key in keys if parse_key(key).type_id == kind.type_id]
            found = await self._deciding.decide(kind.decision, chosen)
            for key in chosen:
                decided = found.get(key)
                if decided is None:  # gone, or undefined: nothing to do
                    self.tell.fine(key, gone=True)
                elif decided.failure:
                    self.tell(kind.mode, key, decided.object, FAILED, decided.failure)
                elif decided.decision.errors:
                    self.tell(kind.mode, key, decided.object, DENIED, "; ".join(decided.decision.errors))
                elif changes := differing(self._shown(key, decided), decided.decision.annotations):
                    plans[key] = Plan(decided, changes)
                else:
                    self.tell.fine(key)
        return plans

    def _shown(self, key: str, decided: Decided) -> dict[str, str]:
        shown = {"status": {}, "annotations": decided.annotations}
        return dict(self._sink.overlay(parse_key(key), shown)["annotations"])

    async def stop(self, key: str, plan: Plan, now: float) -> None:
        """Leave an object alone, and say so. Raises OpaError."""
        declared = await self._deciding.declared([key])
        names = self.flips.stop(key, declared.get(key), now)
        why = (
            f"{', '.join(names)}: set {self.flips.most} times within a minute, and to be set again: the policy, or "
            f"another writer, flips; left alone for {PAUSE / 60:g} minutes, or until the policy or the object changes"
        )
        self.tell("Write", key, plan.decided.object, STOPPED, why)

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
                log.info("placed again, as it changed or has waited", object=key)
            else:
                continue
            stopped.discard(key)
        return [key for key in keys if key not in stopped]
