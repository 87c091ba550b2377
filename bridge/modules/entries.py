"""What the loader remembers of one author: what was handed in, what was good, and what was refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bridge.modules.choosing import HOPELESS, Choice
from bridge.modules.submissions import Problem, Submission, Verdict

_KEPT = 2  # versions that were good, to fall back by


@dataclass(slots=True)
class Refusal:
    """A version that OPA, or an evaluation, has shown to be bad beside `others`; without those it may be good."""

    version: Submission
    problems: tuple[Problem, ...]
    others: tuple[Submission, ...] = ()


@dataclass(slots=True)
class Entry:
    """One author. `chosen` is in the set that is served, `confirmed` in the one that OPA has."""

    submitted: Submission
    chosen: Submission | None = None
    confirmed: Submission | None = None
    problems: tuple[Problem, ...] = ()  # of what was submitted
    left_behind: Submission | None = None  # what was submitted and did not go with the others, when last looked at
    told: Verdict | None = None
    since: int = 0  # the number of the set that `chosen` came in with
    revision: str = ""  # of the bundle that brought `confirmed` to OPA
    _good: list[Submission] = field(default_factory=list)  # the newest first
    _refusals: list[Refusal] = field(default_factory=list)

    def submit(self, submission: Submission) -> None:
        """Take another version."""
        self.submitted = submission
        self.problems = ()
        self.left_behind = None

    def take(self, submission: Submission | None, number: int) -> None:
        """Note the version that goes into the set of that number."""
        if submission is not self.chosen:
            self.chosen, self.since = submission, number
        if submission and (not self._good or self._good[0] is not submission):
            others = [one for one in self._good if one is not submission]
            self._good = [submission, *others][:_KEPT]

    def confirm(self, revision: str) -> None:
        """Note that OPA has what was chosen, by the bundle of that revision."""
        if self.confirmed is not self.chosen:
            self.confirmed, self.revision = self.chosen, revision if self.chosen else ""

    def refuse(self, problems: tuple[Problem, ...], others: tuple[Submission, ...]) -> None:
        """Never take the chosen version again, as long as the others are what they are."""
        if self.chosen:
            self._refusals.append(Refusal(self.chosen, problems, others))

    def choice(self, *, again: bool) -> Choice:
        """The versions to choose from; `again` also one that was left behind before."""
        return Choice(self.submitted.author, tuple(self._candidates(again=again)), self.chosen)

    def refused(self) -> tuple[Problem, ...]:
        """Why what was submitted may not be taken, whatever the others are; empty where it may."""
        return next((one.problems for one in self._refusals if one.version is self.submitted), ())

    def reconsider(self, present: set[int]) -> None:
        """Forget refusals of versions that are gone, and those where another one has changed since."""
        kept = {id(self.submitted), *map(id, self._good)}
        self._refusals = [
            one
            for one in self._refusals
            if id(one.version) in kept and all(id(other) in present for other in one.others)
        ]

    @property
    def hopeless(self) -> bool:
        """Whether nothing that others do can mend what was submitted."""
        return any(problem.code == HOPELESS for problem in self.problems)

    def _candidates(self, *, again: bool) -> Iterator[Submission]:
        refused = {id(one.version) for one in self._refusals}
        skipped = self.left_behind is self.submitted and (self.hopeless or not again)
        if id(self.submitted) not in refused and not skipped:
            yield self.submitted
        for version in self._good:
            if version is not self.submitted and id(version) not in refused:
                yield version
