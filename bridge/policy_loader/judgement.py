"""Which submissions compile together, and the submission behind an error.

The selection joins others to the active submissions one at a time: each is accepted, or rejected with OPA's message. Of
those that are not active the oldest is first, so a start gives the same set whatever arrives first. One check for each
would be slow: all are checked together first, and apart only if that finds faults.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bridge.model.keys import Key, pointer
from bridge.opa.bundle import Bundle
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaUndefined
from bridge.opa.shipped import Shipped
from bridge.policy_loader.assembly import assemble, document, generated
from bridge.policy_loader.compile_check import PARSE_ERROR, PASSING, Checker, CheckError, Finding
from bridge.policy_loader.submissions import (
    STRATEGIES,
    DataPath,
    Fault,
    ModuleProblem,
    Places,
    Submission,
    find_disputes,
    packages,
)

_REMEMBERED = 32  # sets
_TESTED = 1000  # remembered submissions with passed tests
IN_THE_WAY = "data_in_the_way"  # the code of the problem that OPA has documents of another client
_OWN = frozenset({PARSE_ERROR, "rego_unsafe_var_error"})  # codes of errors that no other submission causes


FindObstacles = Callable[[Collection[DataPath]], Awaitable[Collection[DataPath]]]


async def no_obstacles(_: Collection[DataPath]) -> Collection[DataPath]:
    """Return that OPA has no documents of other clients: it is not started yet."""
    return ()


class Judge:
    """Checks whole sets and remembers the results, and makes their bundles.

    `find_obstacles` returns those of some parts of `data` where OPA has documents of other clients.
    """

    def __init__(self, checker: Checker, shipped: Shipped, find_obstacles: FindObstacles = no_obstacles) -> None:
        self._checker = checker
        self._shipped = shipped
        self._find_obstacles = find_obstacles
        self._view = ""
        self._guardrails: frozenset[str] = frozenset()
        self._compiled: dict[frozenset[int], tuple[Sequence[Submission], Sequence[Fault]]] = {}
        self._passed: dict[int, Submission] = {}  # those whose tests need not run again
        self._harmless: dict[int, Submission] = {}

    def generate(self, view: str, guardrails: frozenset[str]) -> None:
        """Add to sets from now on what is generated for them, see `assembly.generated`."""
        if (view, guardrails) != (self._view, self._guardrails):
            self._view, self._guardrails = view, guardrails
            self._compiled.clear()

    def _generate_modules(self, submissions: Sequence[Submission]) -> dict[str, str]:
        return generated(submissions, self._view, self._guardrails)

    def bundle(self, submissions: Sequence[Submission]) -> Bundle:
        """Return the bundle of a set."""
        return assemble(self._shipped, submissions, self._generate_modules(submissions))

    async def find_faults(self, submissions: Sequence[Submission]) -> Sequence[Fault]:
        """Return all faults of a set. Raises OpaError if OPA does not respond, CheckError if `opa` is broken."""
        if not submissions:
            return []
        found = [*find_disputes(submissions)] or [*await self._check_obstacles(submissions)]
        return found or await self._compile(submissions)

    async def _check_obstacles(self, submissions: Sequence[Submission]) -> list[Fault]:
        # By each claim, not by what they have in common: data at `team` must not reject a module in `team.b`.
        taken = await self._find_obstacles({at for submission in submissions for _, at in list_claims(submission)})
        return [
            Fault(submission.author, _describe_obstacle(name, at), own=True)
            for submission in submissions
            for name, at in list_claims(submission)
            if at in taken
        ]

    async def _compile(self, submissions: Sequence[Submission]) -> Sequence[Fault]:
        name = frozenset(map(id, submissions))
        if name in self._compiled:
            return self._compiled[name][1]
        places = Places(submissions)
        added = self._generate_modules(submissions)
        found = [fault for submission in submissions for fault in await self._check_outside_access(submission)]
        if not found:
            found = _read_faults(await self._checker.check(places.modules, added), places)
        if not found:
            for submission in submissions:
                found += await self._test(submission, submissions, {**places.modules, **added})
        if not any(fault.problem.code in PASSING for fault in found):
            _remember(self._compiled, name, (submissions, found), _REMEMBERED)
        return found

    async def _check_outside_access(self, submission: Submission) -> list[Fault]:
        if id(submission) in self._harmless:
            return []
        places = Places([submission, replace(submission, modules=submission.tests)])
        found = _read_faults(await self._checker.find_outside_access(places.modules), places, own=True)
        if not found:
            _remember(self._harmless, id(submission), submission, _TESTED)
        return found

    async def _test(
        self, submission: Submission, submissions: Sequence[Submission], modules: Mapping[str, str]
    ) -> list[Fault]:
        if not submission.tests or id(submission) in self._passed:
            return []
        tests = Places([replace(submission, modules=submission.tests)], "tests/")
        found = await self._checker.test(modules, tests.modules, document(self._shipped, submissions))
        if not found:
            _remember(self._passed, id(submission), submission, _TESTED)
        # A test that conflicts with others' modules is at fault itself: without it the set compiles.
        return [replace(fault, author=submission.author) for fault in _read_faults(found, tests, own=True)]


def _remember(known: dict[Any, Any], name: Any, value: Any, most: int) -> None:
    """Keep a value, with the submissions whose ids are in its name: the ids are not reused."""
    if len(known) >= most:
        del known[next(iter(known))]
    known[name] = value


def _read_faults(found: Sequence[Finding], places: Places, *, own: bool = False) -> list[Fault]:
    faults = [places.fault(*finding) for finding in found]
    return [replace(fault, own=own or fault.problem.code in _OWN) for fault in faults]


def list_claims(submission: Submission) -> list[tuple[str, DataPath]]:
    """Return the parts of `data` that a submission owns, each with its module, "" for data."""
    return [*packages(submission).items(), *(("", at) for at in submission.data)]


def _describe_obstacle(name: str, path: DataPath) -> ModuleProblem:
    text = f"OPA has data of another client at {'.'.join(path)}, which these modules overwrite: choose another package"
    return ModuleProblem(name, 1 if name else 0, 1 if name else 0, IN_THE_WAY, text)


# Ordinary objects, which no user wrote: a module must not fail on them.
_MATCH = {"path": {"type": "PathPrefix", "value": "/"}}
_SPECS: Mapping[str, Mapping[str, Any]] = {
    "v1/Namespace": {},
    "v1/Service": {"ports": [{"name": "http", "port": 80}]},
    "gateway.networking.k8s.io/v1/Gateway": {
        "gatewayClassName": "example",
        "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
    },
    "gateway.networking.k8s.io/v1/HTTPRoute": {
        "parentRefs": [{"name": "example"}],
        "hostnames": ["www.example.com"],
        "rules": [{"matches": [_MATCH], "backendRefs": [{"name": "example", "port": 80}]}],
    },
}
_METADATA = {"name": "example", "labels": {"app": "example"}, "annotations": {"example.com/note": "example"}}
EXAMPLES = [
    {
        "apiVersion": type_.rpartition("/")[0],
        "kind": type_.rpartition("/")[2],
        "metadata": _METADATA if type_ == "v1/Namespace" else {**_METADATA, "namespace": "example"},
        "spec": spec,
    }
    for type_, spec in _SPECS.items()
]
_SIDE: Mapping[str, Any] = {"spec": {}, "origins": {}, "policies": []}
_MERGED = {"established": _SIDE, "challenger": _SIDE, "policyKind": ""}


async def fails_on_examples(opa: Opa, author: Key, submissions: Sequence[Submission]) -> bool:
    """Return whether an author's modules fail without anything that a user wrote; else a user's object is the cause.

    Evaluates the extension points of all `submissions`, because they may use the author's other packages. Raises
    OpaError if OPA does not respond.
    """
    questions: list[tuple[str, Any]] = [("bridge/v1/links", {"objects": EXAMPLES})]
    claimed = {package for submission in submissions for package in packages(submission).values()}
    strategies = [package for package in claimed if package[: len(STRATEGIES)] == STRATEGIES]
    questions += [(pointer(*package, "result"), _MERGED) for package in strategies]
    places = Places(submissions)
    for path, query_input in questions:
        try:
            await opa.ask(path, query_input)
        except OpaUndefined:
            continue
        except OpaRejected as error:
            if any(fault_of(one, places).author == author for one in error.errors):
                return True
    return False


def failures_by_author(
    failing: Mapping[tuple[str, str], OpaError], submissions: Sequence[Submission]
) -> dict[Key, tuple[ModuleProblem, ...]]:
    """Return what fails on single items in the modules of each author."""
    found: dict[Key, list[ModuleProblem]] = {}
    places = Places(submissions if failing else ())
    for (_, item), error in sorted(failing.items(), key=lambda entry: entry[0]):
        for one in error.errors[:1] if isinstance(error, OpaRejected) else ():
            fault = fault_of(one, places)
            if fault.author:
                message = f"fails on {item}: {fault.problem.message}"
                found.setdefault(fault.author, []).append(replace(fault.problem, message=message))
    return {author: tuple(problems) for author, problems in found.items()}


def fault_of(error: Mapping[str, Any], places: Places) -> Fault:
    """Return an error of OPA in a form for the author whose module it is in; of none, if it is in the bridge's own."""
    location = error.get("location") or {}
    file, line, column = (location.get(name, 0) for name in ("file", "row", "col"))
    return places.fault(
        str(file or ""), int(line), int(column), str(error.get("code", "")), str(error.get("message", ""))
    )


Chosen = Mapping[Key, Submission]  # by author; in exclusions the first has precedence
Problems = Mapping[int, tuple[ModuleProblem, ...]]  # by the id of a submission
Check = Callable[[Sequence[Submission]], Awaitable[Sequence[Fault]]]


async def select(active: Sequence[Submission], joining: Sequence[Submission], check: Check) -> tuple[Chosen, Problems]:
    """Return the active submissions with those of `joining` that compile beside them, and the problems of the others.

    `check` returns the faults of a set. In both arguments the first has precedence. An active one is rejected only if
    it does not compile without what has gone. Raises CheckError if that is unknown.
    """
    selection, together = _Selection(check), joined({}, [*active, *joining])
    if not await selection.find_faults(together):
        return together, {}
    faults = await selection.find_faults(joined({}, active))
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

    async def find_faults(self, chosen: Chosen) -> Sequence[Fault]:
        name = frozenset(map(id, chosen.values()))
        if name not in self._known:
            self._known[name] = await self._check([*chosen.values()])
        return self._known[name]

    async def grow(self, base: Chosen, joining: Sequence[Submission]) -> Chosen:
        """Return `base` with all of `joining` that compile with it and with those before them."""
        together = joined(base, joining)
        if not joining or not (faults := await self.find_faults(together)):
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
                found = [*await self.find_faults(joined(base, [*left, one]))]
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
        ModuleProblem("", 0, 0, fault.problem.code, f"breaks {_name_place(fault)}: {fault.problem.message}")
        for fault in faults
    )


def _name_place(fault: Fault) -> str:
    problem = fault.problem
    where = f"{problem.file}:{problem.line}" if problem.file else "the set of modules"
    return f"{fault.author} {where}" if fault.author else where
