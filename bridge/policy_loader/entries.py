"""What the loader knows of each author: the submitted version, and those in the served set and in OPA."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bridge.model.keys import Key
from bridge.policy_loader.compile_check import PARSE_ERROR, PASSING
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
