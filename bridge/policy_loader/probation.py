"""Checks of one submission at a time beside the served set: of rejected ones, and after a check of several took long.

A submission whose check takes long delays no other: it has `quick` seconds in the first lane, and is then checked in
the second one, where the checker's own deadline applies.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence

import structlog

from bridge.model.keys import Key
from bridge.opa.errors import OpaError
from bridge.policy_loader.compile_check import PASSING, CheckError
from bridge.policy_loader.entries import NEVER, Entry
from bridge.policy_loader.selection import Check, joined, problems_of
from bridge.policy_loader.submissions import ModuleProblem, Submission

log = structlog.get_logger(__name__)

QUICK = 4.0  # seconds of a check in the first lane; the shipped modules take 1.7 s of processor time
_USUAL = 3.0  # a check that takes this multiple of the last one takes long
_FAILED = 1.0  # seconds after a check that could not be made


class Probation:
    """Checks of the entries that are `alone`.

    `served` returns the current set, the same list while it does not change. `passed` is called after a check without a
    fault, `rejected` after one with other problems than before. `run` does the work until it is cancelled.
    """

    def __init__(
        self,
        entries: Mapping[Key, Entry],
        check: Check,
        served: Callable[[], Sequence[Submission]],
        passed: Callable[[], None],
        rejected: Callable[[], None],
    ) -> None:
        self.quick = QUICK
        self._entries = entries
        self._check = check
        self._served = served
        self._passed = passed
        self._rejected = rejected
        self._wakes = {slow: asyncio.Event() for slow in (False, True)}

    def measure(self, seconds: float) -> None:
        """Note the duration of a check: more than a multiple of it is long."""
        self.quick = max(QUICK, _USUAL * seconds)

    def wake(self) -> None:
        """Look for entries that are due."""
        for event in self._wakes.values():
            event.set()

    async def run(self) -> None:
        """Check until cancelled."""
        async with asyncio.TaskGroup() as lanes:
            for slow in self._wakes:
                lanes.create_task(self._lane(slow=slow))

    async def _lane(self, *, slow: bool) -> None:
        while True:
            self._wakes[slow].clear()
            now = asyncio.get_running_loop().time()
            waiting = [one for one in self._entries.values() if one.alone and one.slow is slow and one.due < NEVER]
            due = [one for one in waiting if one.due <= now]
            if due:  # new ones precede rejected ones
                await self._try(min(due, key=lambda one: (bool(one.problems), one.due, one.submitted.age)))
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(one.due for one in waiting) - now if waiting else None):
                    await self._wakes[slow].wait()

    async def _try(self, entry: Entry) -> None:
        base, submission, clock = self._served(), entry.submitted, asyncio.get_running_loop()
        started = clock.time()
        problems: tuple[ModuleProblem, ...] | None = None
        late = False
        try:
            async with asyncio.timeout(None if entry.slow else self.quick):
                faults = await self._check([*joined({}, [*base, submission]).values()])
                problems = problems_of(submission.author, faults)
        except TimeoutError:
            text = f"its check takes longer than {self.quick:g} s: the bridge repeats it beside the other modules"
            problems, late = (ModuleProblem("", 0, 0, "timeout", text),), True
            log.warning("slow modules", submission=str(submission.author), seconds=self.quick)
        except (OpaError, CheckError):
            pass
        if self._entries.get(submission.author) is not entry or entry.submitted is not submission:
            return  # it is gone, or another version has arrived
        now, before = clock.time(), entry.problems
        if problems is None:
            entry.due = now + _FAILED
            return
        if not any(problem.code in PASSING for problem in problems):
            self.measure(now - started)
        if not problems:
            entry.alone = False
            self._passed()
            return
        entry.reject(problems, now)
        if late:
            entry.slow, entry.due = True, now
            self.wake()
        elif self._served() is not base:
            entry.retry(now)
        if problems != before:
            self._rejected()
