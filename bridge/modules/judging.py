"""What is wrong with a set of submissions, before OPA gets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bridge.modules.assembling import claimed_roots, document
from bridge.modules.checking import PASSING, Checker, Finding
from bridge.modules.claims import disputes, overlap, packages
from bridge.modules.generating import Generate, InTheWay
from bridge.modules.places import Fault, Places
from bridge.modules.shipped import Shipped
from bridge.modules.submissions import DataPath, Problem, Submission

_REMEMBERED = 32  # sets
_TESTED = 1000  # submissions of which it is remembered that their tests passed


class Judge:
    """Looks at whole sets, and remembers those that it has looked at.

    `in_the_way` gives those of some parts of `data` where OPA has documents of somebody else. `passed` are submissions
    whose tests need not be run (again).
    """

    def __init__(self, checker: Checker, shipped: Shipped, generate: Generate, in_the_way: InTheWay) -> None:
        self._checker = checker
        self._shipped = shipped
        self._generate = generate
        self._in_the_way = in_the_way
        self._compiled: dict[tuple[int, ...], tuple[Sequence[Submission], tuple[Fault, ...]]] = {}
        self._passed: dict[int, Submission] = {}

    async def faults(self, submissions: Sequence[Submission]) -> Sequence[Fault]:
        """All that is wrong with a set. Raises OpaError where OPA cannot be asked, CheckError where `opa` is broken."""
        if not submissions:
            return []
        found = [*disputes(submissions)] or [*await self._obstacles(submissions)]
        return found or await self._compile(submissions)

    def forget(self) -> None:
        """Look at every set anew: the generated modules are others now."""
        self._compiled.clear()

    async def _obstacles(self, submissions: Sequence[Submission]) -> list[Fault]:
        taken = await self._in_the_way(claimed_roots(submissions))
        return [
            Fault(submission.author, problem)
            for path in taken
            for submission in submissions
            for problem in _obstacle(submission, path)
        ]

    async def _compile(self, submissions: Sequence[Submission]) -> tuple[Fault, ...]:
        name = tuple(map(id, submissions))
        known = self._compiled.get(name)
        if known:
            return known[1]
        places = Places(submissions)
        generated = self._generate(submissions)
        found = _faults(await self._checker.check(places.modules, generated), places)
        if not found:
            for submission in submissions:
                found += await self._test(submission, submissions, {**places.modules, **generated})
        if any(fault.problem.code in PASSING for fault in found):
            return tuple(found)
        if len(self._compiled) >= _REMEMBERED:
            del self._compiled[next(iter(self._compiled))]
        self._compiled[name] = (submissions, tuple(found))
        return tuple(found)

    async def _test(
        self, submission: Submission, submissions: Sequence[Submission], modules: Mapping[str, str]
    ) -> list[Fault]:
        if not submission.tests or id(submission) in self._passed:
            return []
        tests = Places([Submission(submission.author, submission.version, submission.tests)], "tests/")
        found = await self._checker.test(modules, tests.modules, document(self._shipped, submissions))
        if not found:
            if len(self._passed) >= _TESTED:
                del self._passed[next(iter(self._passed))]
            self._passed[id(submission)] = submission  # kept, so that its id stays its own
        # What of others a test's modules do not go with is the test's fault: without it they do.
        return [Fault(submission.author, fault.problem) for fault in _faults(found, tests)]


def _faults(found: Sequence[Finding], places: Places) -> list[Fault]:
    return [places.fault(*finding) for finding in found]


def _obstacle(submission: Submission, path: DataPath) -> list[Problem]:
    text = (
        f"OPA holds data of somebody else at {'.'.join(path)}, which these modules would erase: choose another package"
    )
    claims = [*packages(submission).items(), *(("", at) for at in submission.data)]
    return [
        Problem(name, 1 if name else 0, 1 if name else 0, "data_in_the_way", text)
        for name, at in claims
        if overlap(at, path)
    ]
