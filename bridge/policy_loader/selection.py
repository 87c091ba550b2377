"""The selection of submissions that are served together: the active ones, and others that compile beside them.

Each submission joins the active set alone: it is accepted, or rejected with OPA's message. Of those that are not active
the oldest is first, so a start gives the same set whatever arrives first. One check for each would be slow: all are
checked together first, and apart only if that finds faults.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from bridge.model.keys import Key
from bridge.policy_loader.compile_check import PARSE_ERROR, PASSING, CheckError
from bridge.policy_loader.submissions import Fault, ModuleProblem, Submission

Chosen = Mapping[Key, Submission]  # by author; in exclusions the first has precedence
Problems = Mapping[int, tuple[ModuleProblem, ...]]  # by the id of a submission
Check = Callable[[Sequence[Submission]], Awaitable[Sequence[Fault]]]


async def select(active: Sequence[Submission], joining: Sequence[Submission], check: Check) -> tuple[Chosen, Problems]:
    """Return the active submissions with those of `joining` that compile beside them, and the problems of the others.

    `check` returns the faults of a set. In both arguments the first has precedence. An active one is rejected only if
    it does not compile without what has gone. Raises CheckError if that is unknown.
    """
    selection, together = _Selection(check), joined({}, [*active, *joining])
    if not await selection.faults(together):
        return together, {}
    faults = await selection.faults(joined({}, active))
    if faults and all(fault.problem.code in PASSING for fault in faults):
        raise CheckError(faults[0].problem.message)
    chosen = await selection.grow({}, active)
    chosen = await selection.grow(chosen, joining)
    for rejected in ([one for one in active if one.author not in chosen], joining):
        chosen = await selection.grow(chosen, selection.waiting(chosen, rejected))
    return chosen, selection.problems


class _Selection:
    def __init__(self, check: Check) -> None:
        self.problems: dict[int, tuple[ModuleProblem, ...]] = {}
        self._check = check
        self._known: dict[frozenset[int], Sequence[Fault]] = {}  # by the ids of the submissions

    async def faults(self, chosen: Chosen) -> Sequence[Fault]:
        name = frozenset(map(id, chosen.values()))
        if name not in self._known:
            self._known[name] = await self._check([*chosen.values()])
        return self._known[name]

    async def grow(self, base: Chosen, joining: Sequence[Submission]) -> Chosen:
        """Return `base` with all of `joining` that compile with it and with those before them."""
        together = joined(base, joining)
        if not joining or not (faults := await self.faults(together)):
            return together
        if len(joining) == 1:
            self.problems[id(joining[0])] = problems_of(joining[0].author, faults)
            return base
        named = [index for index, one in enumerate(joining) if any(fault.author == one.author for fault in faults)]
        if not named:  # one of them breaks an active one
            half = len(joining) // 2
            return await self.grow(await self.grow(base, joining[:half]), joining[half:])
        left: list[Submission] = []
        for index, one in enumerate(joining):
            found = [fault for fault in faults if fault.author == one.author and fault.own]
            if index in named and not found:  # a younger one may be the cause
                found = [*await self.faults(joined(base, [*left, one]))]
                if not found:
                    return await self.grow(await self.grow(base, [*left, one]), joining[index + 1 :])
            if found:
                self.problems[id(one)] = problems_of(one.author, found)
            else:
                left.append(one)
        return await self.grow(base, left)

    def waiting(self, chosen: Chosen, rejected: Iterable[Submission]) -> list[Submission]:
        """Return those of `rejected` that one which joined after them may complete."""
        given_up = {PARSE_ERROR, *PASSING}
        return [
            one
            for one in rejected
            if chosen.get(one.author) is not one
            and not any(problem.code in given_up for problem in self.problems[id(one)])
        ]


def joined(base: Chosen, joining: Iterable[Submission]) -> Chosen:
    """Return both; another version of an author takes the place of the version before."""
    return {**base, **{one.author: one for one in joining}}


def problems_of(author: Key, faults: Sequence[Fault]) -> tuple[ModuleProblem, ...]:
    """Return faults for the author whose submission causes them: faults in others' modules are breakages."""
    own = tuple(fault.problem for fault in faults if fault.author == author)
    return own or tuple(
        ModuleProblem("", 0, 0, fault.problem.code, f"breaks {_place(fault)}: {fault.problem.message}")
        for fault in faults
    )


def _place(fault: Fault) -> str:
    problem = fault.problem
    where = f"{problem.file}:{problem.line}" if problem.file else "the set of modules"
    return f"{fault.author} {where}" if fault.author else where
