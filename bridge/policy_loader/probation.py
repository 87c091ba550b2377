"""Checks of one submission at a time beside the served set, after a check of all together took long.

A submission whose check takes long delays no other: it has `quick` seconds in the first lane, and is then checked in
the second one, where the checker's own deadline applies. Two that only compile together need one object here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from bridge.model.keys import Key
from bridge.opa.errors import OpaError
from bridge.policy_loader.compile_check import PASSING, CheckError
from bridge.policy_loader.selection import HOPELESS, Check, problems_of
from bridge.policy_loader.submissions import ModuleProblem, Submission

log = structlog.get_logger(__name__)

QUICK = 4.0  # seconds of a check in the first lane; the shipped modules take 1.7 s of processor time
_USUAL = 3.0  # a check that takes this multiple of the last one takes long
_RETRY = 30.0  # seconds until a check that took too long is repeated
_FAILED = 1.0  # seconds after a check that could not be made


@dataclass(slots=True)
class _Held:
    """A submission. `base` is the set it was last checked with, `due` the loop's time of the next check with any."""

    submission: Submission
    slow: bool = False
    base: Sequence[Submission] | None = None
    due: float = 0.0
    passed: bool = False
    problems: tuple[ModuleProblem, ...] = ()


class Probation:
    """Submissions that join the served set only after they have passed beside it.

    `served` returns the current set, the same list while it does not change. `note` is called after each result. `run`
    does the work until it is cancelled.
    """

    def __init__(self, check: Check, served: Callable[[], Sequence[Submission]], note: Callable[[], None]) -> None:
        self.quick = QUICK
        self._check = check
        self._served = served
        self._note = note
        self._held: dict[Key, _Held] = {}
        self._wake = asyncio.Condition()

    def is_needed(self) -> bool:
        """Return whether a held submission is slow or was not checked yet; otherwise all can be checked together."""
        if any(one.slow or one.base is None for one in self._held.values()):
            return True
        self._held.clear()
        return False

    def measure(self, seconds: float) -> None:
        """Note the duration of a check: more than a multiple of it is long."""
        self.quick = max(QUICK, _USUAL * seconds)

    async def hold(self, submissions: Sequence[Submission]) -> None:
        """Hold these, if they are not held; another version of a slow one goes to the second lane."""
        for submission in submissions:
            before = self._held.get(submission.author)
            if before is None or before.submission is not submission:
                self._held[submission.author] = _Held(submission, slow=before is not None and before.slow)
        async with self._wake:  # also if there is no other: the served set may have changed
            self._wake.notify_all()

    def release(self, author: Key) -> None:
        """Forget the submission of an author: it is active, or gone."""
        self._held.pop(author, None)

    def fail(self, submission: Submission, problems: tuple[ModuleProblem, ...]) -> None:
        """Note that a submission that had passed does not go with others that had."""
        held = self._of(submission)
        if held and held.passed:
            held.passed, held.problems, held.base = False, problems, self._served()

    def is_waiting(self, submission: Submission) -> bool:
        """Return whether a submission is held, and has not passed."""
        held = self._of(submission)
        return held is not None and not held.passed

    def has_passed(self, submission: Submission) -> bool:
        """Return whether a submission is held, and has passed."""
        held = self._of(submission)
        return held is not None and held.passed

    def problems(self, submission: Submission) -> tuple[ModuleProblem, ...]:
        """Return why a held submission has not passed; empty while it is being checked for the first time."""
        held = self._of(submission)
        return held.problems if held else ()

    def _of(self, submission: Submission) -> _Held | None:
        held = self._held.get(submission.author)
        return held if held and held.submission is submission else None

    async def run(self) -> None:
        """Check until cancelled."""
        async with asyncio.TaskGroup() as lanes:
            lanes.create_task(self._lane(slow=False))
            lanes.create_task(self._lane(slow=True))

    async def _lane(self, *, slow: bool) -> None:
        while True:
            due = [one for one in self._held.values() if one.slow is slow and self._is_due(one)]
            if due:
                await self._try(min(due, key=lambda one: one.base is not None))  # new ones before rejected ones
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FAILED), self._wake:
                    await self._wake.wait()

    def _is_due(self, held: _Held) -> bool:
        if held.passed or asyncio.get_running_loop().time() < held.due:
            return False
        hopeless = any(problem.code == HOPELESS for problem in held.problems)
        return held.base is None or (held.base is not self._served() and not hopeless)

    async def _try(self, held: _Held) -> None:
        base, submission, clock = self._served(), held.submission, asyncio.get_running_loop()
        started = clock.time()
        others = [one for one in base if one.author != submission.author]
        try:
            async with asyncio.timeout(None if held.slow else self.quick):
                faults = await self._check([*others, submission])
        except TimeoutError:
            text = f"its check takes longer than {self.quick:g} s: the bridge repeats it beside the other modules"
            held.slow, held.problems = True, (ModuleProblem("", 0, 0, "timeout", text),)
            log.warning("slow modules", submission=str(submission.author), seconds=self.quick)
        except (OpaError, CheckError):
            held.due = clock.time() + _FAILED
            return
        else:
            held.passed, held.problems = not faults, problems_of(submission.author, faults)
            if any(problem.code in PASSING for problem in held.problems):
                held.base, held.due = None, clock.time() + _RETRY
            else:
                held.base = base
                self.measure(clock.time() - started)
        if self._held.get(submission.author) is held:
            self._note()
        async with self._wake:
            self._wake.notify_all()
