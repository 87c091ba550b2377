"""Which versions of all submissions go together: the newest of each, where those that break the set stay behind.

The search, at the cost of few checks:
1. the newest of all; mostly that is it;
2. those that are new and in which OPA found something fall back (by the version in force, else out), until it is;
3. where OPA finds something in what is in force already, somebody new is behind it: what is in force is the base, and
   the new ones join it by halves;
4. those that stayed behind are tried once more with what was found: the reason may have gone with another one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.model.keys import Key
from bridge.modules.places import Fault
from bridge.modules.submissions import Problem, Submission

Chosen = dict[Key, Submission]
Check = Callable[[Sequence[Submission]], Awaitable[Sequence[Fault]]]
HOPELESS = "rego_parse_error"  # nothing that others hand in mends this


@dataclass(slots=True)
class Choice:
    """The versions of one submission that may be taken, the newest first; `in_force` is the one that is now."""

    author: Key
    versions: tuple[Submission, ...]
    in_force: Submission | None = None


@dataclass(slots=True)
class Outcome:
    """What was chosen, in the order of the choices, and why the newest version of another submission was not."""

    chosen: Chosen = field(default_factory=dict)
    problems: dict[Key, tuple[Problem, ...]] = field(default_factory=dict)


async def choose(choices: Sequence[Choice], check: Check) -> Outcome:
    """The newest set in which `check` finds no fault. Choices come with those first that stay where two exclude."""
    search = _Search([choice for choice in choices if choice.versions], check)
    return await search.run()


class _Search:
    def __init__(self, choices: Sequence[Choice], check: Check) -> None:
        self._choices = choices
        self._check = check
        self._newest: Chosen = {choice.author: choice.versions[0] for choice in choices}
        self._in_force: Chosen = {choice.author: choice.in_force for choice in choices if choice.in_force}
        self._problems: dict[Key, tuple[Problem, ...]] = {}

    async def run(self) -> Outcome:
        chosen = await self._without_culprits()
        if chosen is None:
            base = await self._grown({}, list(self._in_force.values()))
            chosen = await self._grown(base, self._behind(base))
        chosen = await self._grown(chosen, self._behind(chosen))
        left = [author for author, newest in self._newest.items() if chosen.get(author) is not newest]
        unknown = (Problem("", 0, 0, "left_out", "does not go with the other modules"),)
        return Outcome(self._ordered(chosen), {author: self._problems.get(author, unknown) for author in left})

    async def _without_culprits(self) -> Chosen | None:
        """The newest of all but those in which faults are; None where no new one has a fault, and there are some."""
        chosen = dict(self._newest)
        while faults := await self._check(self._list(chosen)):
            found = _by_author(faults)
            culprits = [who for who in found if who in chosen and chosen[who] is not self._in_force.get(who)]
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
        """`base` with all of `joining` that go with it and with those before them."""
        if not joining:
            return base
        grown = {**base, **{submission.author: submission for submission in joining}}
        faults = await self._check(self._list(grown))
        if not faults:
            return grown
        if len(joining) == 1:
            author = joining[0].author
            if joining[0] is self._newest[author]:
                self._problems[author] = _told_to(author, faults)
            return base
        half = len(joining) // 2
        return await self._grown(await self._grown(base, joining[:half]), joining[half:])

    def _behind(self, chosen: Mapping[Key, Submission]) -> list[Submission]:
        """The newest versions that were not chosen and may go in yet."""
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


def _by_author(faults: Sequence[Fault]) -> dict[Key, tuple[Problem, ...]]:
    found: dict[Key, list[Problem]] = {}
    for fault in faults:
        if fault.author:
            found.setdefault(fault.author, []).append(fault.problem)
    return {author: tuple(problems) for author, problems in found.items()}


def _told_to(author: Key, faults: Sequence[Fault]) -> tuple[Problem, ...]:
    """Faults as the author whose submission brought them is told: those of others as what it breaks there."""
    own = tuple(fault.problem for fault in faults if fault.author == author)
    if own:
        return own
    return tuple(
        Problem("", 0, 0, fault.problem.code, f"breaks {_place(fault)}: {fault.problem.message}") for fault in faults
    )


def _place(fault: Fault) -> str:
    problem = fault.problem
    where = f"{problem.file}:{problem.line}" if problem.file else "the set of modules"
    return f"{fault.author} {where}" if fault.author else where
