"""What the loader knows of each author, and the checks of one submission at a time beside the served set.

Rejected ones are checked alone, and those of a check together that took long. A submission whose check takes long
delays no other: it has `quick` seconds in the first lane, and is then checked in the second one, where the checker's
own deadline applies.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from bridge.model.keys import Key
from bridge.opa.errors import OpaError
from bridge.policy_loader.compile_check import PARSE_ERROR, PASSING, CheckError
from bridge.policy_loader.judgement import Check, joined, problems_of
from bridge.policy_loader.ownership import flaws, packages
from bridge.policy_loader.submissions import ModuleProblem, Submission, Verdict

NEVER = math.inf
_RETRY = 30.0  # seconds until a rejected version is checked again, for a reason outside of the set


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(slots=True)
class Entry:
    """One author. `chosen` is in the served set, `previous` was there before, and `confirmed` is in OPA's set.

    `problems` are of `submitted`. A version that is `alone` joins others only after it has passed a check alone beside
    the served set; `due` is the loop's time of the next one, and `slow` that it takes long. `others` are the versions
    without which a failure of `submitted` in OPA may be fixed.
    """

    submitted: Submission
    chosen: Submission | None = None
    previous: Submission | None = None
    confirmed: Submission | None = None
    problems: tuple[ModuleProblem, ...] = ()
    alone: bool = False
    slow: bool = False
    due: float = 0.0
    others: tuple[Submission, ...] = ()
    reported: Verdict | None = None
    since: int = 0  # the number of the set that added `chosen`
    revision: str = ""  # of the bundle that brought `confirmed` to OPA
    submitted_at: str = field(default_factory=_now)

    def __post_init__(self) -> None:
        self.submit(self.submitted)

    def submit(self, submission: Submission) -> None:
        """Replace the submitted version. One that follows a slow one is checked alone."""
        self.submitted, self.submitted_at = submission, _now()
        self.problems, self.others, self.alone, self.due = (), (), self.slow, 0.0
        if found := flaws(submission):
            self.reject(tuple(found), NEVER)

    def reject(self, problems: tuple[ModuleProblem, ...], now: float) -> None:
        """Reject the submitted version; check it alone later, unless no other submission can fix it."""
        hopeless = any(problem.code == PARSE_ERROR for problem in problems)
        self.problems, self.alone, self.due = problems, True, NEVER if hopeless else now + _RETRY

    def retry(self, now: float) -> None:
        """Check a rejected version again soon, because the set has changed."""
        if not any(problem.code in PASSING for problem in self.problems) and self.due < NEVER:
            self.due = min(self.due, now)

    def adopt(self, chosen: Submission | None, number: int) -> None:
        """Note the version in the set of that number."""
        if chosen is not self.chosen:
            self.previous, self.chosen, self.since = self.chosen, chosen, number
        if chosen is self.submitted:
            self.problems, self.alone, self.slow = (), False, False

    def confirm(self, revision: str) -> None:
        """Note that OPA has the chosen version, in the bundle of that revision."""
        if self.confirmed is not self.chosen:
            self.confirmed, self.revision = self.chosen, revision if self.chosen else ""

    def withdraw(self, failure: Failure) -> None:
        """Return to the previous version, if the chosen one is the one that failed."""
        if self.chosen is failure.version:
            self.chosen, self.previous = self.previous, None
            if failure.version is self.submitted:
                self.reject(failure.problems, NEVER)
                self.others = failure.others

    def reconsider(self, present: Collection[int]) -> None:
        """Let a version that failed in OPA join again, if another that took part has changed; `present` are ids."""
        if any(id(other) not in present for other in self.others):
            self.others, self.alone = (), False

    def verdict(self, failing: tuple[ModuleProblem, ...]) -> Verdict | None:
        """Return the verdict on the submitted version, None while it is unknown. OPA's version fails on `failing`."""
        if self.chosen is not self.submitted and not self.problems:
            return None
        active = self.confirmed.version if self.confirmed else ""
        one = self.submitted
        return Verdict(one.author, one.version, active, self.problems, self.revision, failing)


@dataclass(frozen=True, slots=True)
class Failure:
    """A version that OPA rejects, or that fails in an evaluation, together with `others`."""

    version: Submission
    problems: tuple[ModuleProblem, ...]
    others: tuple[Submission, ...]


def sharing(entries: Mapping[Key, Entry], entry: Entry, module: str = "") -> list[Entry]:
    """Return the entries in the set with a package of this one (or of this module), including itself."""
    own = packages(entry.chosen) if entry.chosen else {}
    wanted = {own[module]} if module in own else set(own.values())
    return [
        other
        for other in entries.values()
        if other.chosen and (other is entry or wanted & set(packages(other.chosen).values()))
    ]


def youth(entry: Entry) -> tuple[int, tuple[bool, str, Key]]:
    """Return a sort key: the version that joined the set last is the last."""
    return entry.since, entry.submitted.age


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
