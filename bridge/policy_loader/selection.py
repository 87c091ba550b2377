"""The selection of versions that are served together: the newest of each submission, without those that break the set.

The search, at the cost of few checks:
1. the newest of all, which usually compile;
2. new versions in which OPA finds errors are replaced by the active version, or removed, until the set compiles;
3. if OPA finds errors in an active version, a new one causes them: the active set is the base, and the new ones join it
   by halves;
4. rejected versions are tried once more with the result: the reason may have been another rejected one.

The loader remembers the versions of each author here, and reports a verdict only if it has changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bridge.model.keys import Key
from bridge.policy_loader.submissions import Fault, ModuleProblem, Submission, Verdict

Chosen = dict[Key, Submission]
Check = Callable[[Sequence[Submission]], Awaitable[Sequence[Fault]]]
HOPELESS = "rego_parse_error"  # no other submission fixes this


@dataclass(slots=True)
class Choice:
    """The available versions of one submission, the newest first; `active` is the one in OPA."""

    author: Key
    versions: tuple[Submission, ...]
    active: Submission | None = None


@dataclass(slots=True)
class SelectedSet:
    """The selected versions, in the order of the choices, and why the newest version of another submission was not."""

    chosen: Chosen = field(default_factory=dict)
    problems: dict[Key, tuple[ModuleProblem, ...]] = field(default_factory=dict)


async def choose(choices: Sequence[Choice], check: Check) -> SelectedSet:
    """Return the newest set in which `check` finds no fault. Choices that take precedence in exclusions come first."""
    search = _Search([choice for choice in choices if choice.versions], check)
    return await search.run()


class _Search:
    def __init__(self, choices: Sequence[Choice], check: Check) -> None:
        self._choices = choices
        self._check = check
        self._newest: Chosen = {choice.author: choice.versions[0] for choice in choices}
        self._active: Chosen = {choice.author: choice.active for choice in choices if choice.active}
        self._problems: dict[Key, tuple[ModuleProblem, ...]] = {}

    async def run(self) -> SelectedSet:
        chosen = await self._without_culprits()
        if chosen is None:
            base = await self._grown({}, list(self._active.values()))
            chosen = await self._grown(base, self._behind(base))
        chosen = await self._grown(chosen, self._behind(chosen))
        left = [author for author, newest in self._newest.items() if chosen.get(author) is not newest]
        unknown = (ModuleProblem("", 0, 0, "left_out", "conflicts with the other modules"),)
        return SelectedSet(self._ordered(chosen), {author: self._problems.get(author, unknown) for author in left})

    async def _without_culprits(self) -> Chosen | None:
        """Return the newest of all except those with faults; None if no new one has a fault, but others have."""
        chosen = dict(self._newest)
        while faults := await self._check(self._list(chosen)):
            found = _by_author(faults)
            culprits = [who for who in found if who in chosen and chosen[who] is not self._active.get(who)]
            if not culprits:
                return None
            for author in culprits:
                if chosen[author] is self._newest[author]:
                    self._problems[author] = found[author]
                following = self._next(author, chosen[author])
                if following:
                    chosen[author] = following
                else:
                    del chosen[author]
        return chosen

    async def _grown(self, base: Chosen, joining: Sequence[Submission]) -> Chosen:
        """Return `base` with all of `joining` that compile with it and with those before them."""
        if not joining:
            return base
        grown = {**base, **{submission.author: submission for submission in joining}}
        faults = await self._check(self._list(grown))
        if not faults:
            return grown
        if len(joining) == 1:
            author = joining[0].author
            if joining[0] is self._newest[author]:
                self._problems[author] = problems_of(author, faults)
            return base
        half = len(joining) // 2
        return await self._grown(await self._grown(base, joining[:half]), joining[half:])

    def _behind(self, chosen: Mapping[Key, Submission]) -> list[Submission]:
        """Return the newest versions that were not selected and may still be added."""
        return [
            newest
            for author, newest in self._newest.items()
            if chosen.get(author) is not newest
            and not any(problem.code == HOPELESS for problem in self._problems.get(author, ()))
        ]

    def _next(self, author: Key, version: Submission) -> Submission | None:
        versions = next(choice.versions for choice in self._choices if choice.author == author)
        older = [index for index, one in enumerate(versions) if one is version]
        return versions[older[0] + 1] if older and older[0] + 1 < len(versions) else None

    def _ordered(self, chosen: Mapping[Key, Submission]) -> Chosen:
        return {choice.author: chosen[choice.author] for choice in self._choices if choice.author in chosen}

    def _list(self, chosen: Mapping[Key, Submission]) -> list[Submission]:
        return list(self._ordered(chosen).values())


def _by_author(faults: Sequence[Fault]) -> dict[Key, tuple[ModuleProblem, ...]]:
    found: dict[Key, list[ModuleProblem]] = {}
    for fault in faults:
        if fault.author:
            found.setdefault(fault.author, []).append(fault.problem)
    return {author: tuple(problems) for author, problems in found.items()}


def problems_of(author: Key, faults: Sequence[Fault]) -> tuple[ModuleProblem, ...]:
    """Return faults for the author whose submission causes them: faults in others' modules are breakages."""
    own = tuple(fault.problem for fault in faults if fault.author == author)
    if own:
        return own
    return tuple(
        ModuleProblem("", 0, 0, fault.problem.code, f"breaks {_place(fault)}: {fault.problem.message}")
        for fault in faults
    )


def _place(fault: Fault) -> str:
    problem = fault.problem
    where = f"{problem.file}:{problem.line}" if problem.file else "the set of modules"
    return f"{fault.author} {where}" if fault.author else where


_KEPT = 2  # good previous versions


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(slots=True)
class Refusal:
    """A version that OPA, or an evaluation, has rejected together with `others`; without those it may be good."""

    version: Submission
    problems: tuple[ModuleProblem, ...]
    others: tuple[Submission, ...] = ()


@dataclass(slots=True)
class Entry:
    """One author. `chosen` is in the served set, `confirmed` in OPA's set."""

    submitted: Submission
    chosen: Submission | None = None
    confirmed: Submission | None = None
    problems: tuple[ModuleProblem, ...] = ()  # of the submission
    left_behind: Submission | None = None  # the submission that did not compile with the others, at the last check
    reported: Verdict | None = None
    since: int = 0  # the number of the set that added `chosen`
    revision: str = ""  # of the bundle that brought `confirmed` to OPA
    submitted_at: str = field(default_factory=_now)
    _good: list[Submission] = field(default_factory=list)  # the newest first
    _refusals: list[Refusal] = field(default_factory=list)

    def submit(self, submission: Submission) -> None:
        """Add another version."""
        self.submitted = submission
        self.submitted_at = _now()
        self.problems = ()
        self.left_behind = None

    def take(self, submission: Submission | None, number: int) -> None:
        """Note the version that is added in the set of that number."""
        if submission is not self.chosen:
            self.chosen, self.since = submission, number
        if submission and (not self._good or self._good[0] is not submission):
            others = [one for one in self._good if one is not submission]
            self._good = [submission, *others][:_KEPT]

    def confirm(self, revision: str) -> None:
        """Note that OPA has the chosen version, in the bundle of that revision."""
        if self.confirmed is not self.chosen:
            self.confirmed, self.revision = self.chosen, revision if self.chosen else ""

    def refuse(self, problems: tuple[ModuleProblem, ...], others: tuple[Submission, ...]) -> None:
        """Exclude the chosen version while the others do not change."""
        if self.chosen:
            self._refusals.append(Refusal(self.chosen, problems, others))

    def choice(self, *, again: bool) -> Choice:
        """Return the versions to select from; `again` includes a rejected one."""
        return Choice(self.submitted.author, tuple(self._candidates(again=again)), self.chosen)

    def refused(self) -> tuple[ModuleProblem, ...]:
        """Return why the submission cannot be loaded, whatever the others are; empty if it can."""
        return next((one.problems for one in self._refusals if one.version is self.submitted), ())

    def reconsider(self, present: set[int]) -> None:
        """Forget rejections of removed versions, and those where another version has changed since."""
        kept = {id(self.submitted), *map(id, self._good)}
        self._refusals = [
            one
            for one in self._refusals
            if id(one.version) in kept and all(id(other) in present for other in one.others)
        ]

    @property
    def being_checked(self) -> bool:
        """Return whether the submission is neither rejected nor in OPA."""
        return self.submitted is not self.confirmed and self.submitted is not self.left_behind

    @property
    def hopeless(self) -> bool:
        """Return whether no change of others can fix the submission."""
        return any(problem.code == HOPELESS for problem in self.problems)

    def _candidates(self, *, again: bool) -> Iterator[Submission]:
        refused = {id(one.version) for one in self._refusals}
        skipped = self.left_behind is self.submitted and (self.hopeless or not again)
        if id(self.submitted) not in refused and not skipped:
            yield self.submitted
        for version in self._good:
            if version is not self.submitted and id(version) not in refused:
                yield version


Listener = Callable[[Verdict], None]


class Verdicts:
    """Reports verdicts of entries to listeners."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each new verdict."""
        self._listeners.append(listener)

    def tell(
        self, entries: Iterable[Entry], failures: Mapping[Key, tuple[ModuleProblem, ...]], *, moving: bool, late: bool
    ) -> None:
        """Report known verdicts; while the set is `moving`, or OPA has not loaded it, only those that are `late`."""
        for entry in list(entries):
            waiting = moving or entry.chosen is not entry.confirmed
            unknown = entry.chosen is not entry.submitted and not entry.left_behind
            if unknown or (waiting and not late):
                continue
            active = entry.confirmed.version if entry.confirmed else ""
            submitted = entry.submitted
            failing = failures.get(submitted.author, ())
            verdict = Verdict(submitted.author, submitted.version, active, entry.problems, entry.revision, failing)
            if verdict != entry.reported:
                entry.reported = verdict
                for listener in self._listeners:
                    listener(verdict)
