"""Which submissions compile together, and the submission behind an error.

The selection joins others to the active submissions one at a time: each is accepted, or rejected with OPA's message. Of
those that are not active the oldest is first, so a start gives the same set whatever arrives first. One check for each
would be slow: all are checked together first, and apart only if that finds faults.
"""

import asyncio
import math
import time
from collections import ChainMap
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

from bridge.model.keys import Key, pointer
from bridge.opa.bundle import Bundle
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaUndefined
from bridge.opa.shipped import Shipped
from bridge.policy_loader.assembly import assemble, document, failing_rules, generated, types_of_view
from bridge.policy_loader.compile_check import (
    MEMORY,
    PARSE_ERROR,
    PASSING,
    REPEATED,
    Checker,
    CheckError,
    Finding,
    RuleHead,
    RuleHeads,
)
from bridge.policy_loader.submissions import (
    STRATEGIES,
    VIEW,
    DataPath,
    Fault,
    ModuleProblem,
    Parts,
    Places,
    Submission,
    find_disputes,
    line_of_package,
    line_of_rule,
)

_REMEMBERED = 32  # sets
_COMPARED = 50  # rules, after which other tasks have a turn
_READ_AT_ONCE = 1 << 20  # characters of modules whose rules one process finds
_TESTED = 1000  # remembered submissions with passed tests
EVALUATION_CONFLICT = "eval_conflict_error"  # OPA's code of two values of one rule
IN_THE_WAY = "data_in_the_way"  # the code of the problem that OPA has documents of another client
RULE_CONFLICT = "rule_conflict"
_OWN = frozenset({PARSE_ERROR, "rego_unsafe_var_error"})  # codes of errors that no other submission causes
_MISSING = "undefined function "  # begins OPA's message about what no submission of a set has


class _Claim(NamedTuple):
    """A rule of a submission in a package that others share; `full` is the head with the whole path."""

    submission: Submission
    head: RuleHead
    package: DataPath
    full: RuleHead


DATA_OF_CLIENTS = "data of another client"
FindObstacles = Callable[[Collection[DataPath]], Awaitable[Mapping[DataPath, str]]]


async def no_obstacles(_: Collection[DataPath]) -> Mapping[DataPath, str]:
    """Return that OPA has no documents of other clients: it is not started yet."""
    return {}


class ServedModules(NamedTuple):
    """A served set: the bridge's own modules and data, the active submissions, the view, and the shipped guardrails."""

    shipped: Shipped
    submissions: Sequence[Submission]
    view: str
    guardrails: frozenset[str]


class Judge:
    """Checks whole sets and remembers the results, and makes their bundles.

    `find_obstacles` returns those of some parts of `data` where OPA has documents of other clients, with what it has.
    """

    def __init__(self, checker: Checker, shipped: Shipped, find_obstacles: FindObstacles = no_obstacles) -> None:
        self._checker = checker
        self._shipped = shipped
        self._find_obstacles = find_obstacles
        self._generated: tuple[str, frozenset[str], Mapping[Key, Mapping[str, str]]] = ("", frozenset(), {})
        self._compiled: dict[frozenset[int], tuple[Sequence[Submission], Sequence[Fault]]] = {}
        self._passed: dict[int, tuple[Submission, float]] = {}  # passed tests run once; the seconds
        self._harmless: dict[int, Submission] = {}
        self._bounded: dict[int, Submission] = {}
        self._heads: dict[int, tuple[Submission, Sequence[RuleHead | Finding]]] = {}
        self._since: dict[tuple[DataPath, Key], int] = {}  # the number of the set since which an author has a package

    def note_served(self, submissions: Sequence[Submission], number: int) -> None:
        """Note the served set and its number: of two authors in a package, the first one has precedence."""
        held = {(package, one.author) for one in submissions for package in one.packages.values()}
        self._since = {claim: self._since.get(claim, number) for claim in held}

    def note_passed(self, submission: Submission) -> None:
        """Note that a former run has accepted a version: its tests are not run again, which takes seconds for each."""
        _remember(self._passed, id(submission), (submission, 0.0), _TESTED)

    def rank(self, submission: Submission, package: DataPath) -> tuple[float, tuple[bool, str, Key]]:
        """Return a sort key for the authors of a package: the first one is the oldest."""
        return self._since.get((package, submission.author), math.inf), submission.age

    def may_break(self, one: Submission, others: Sequence[Submission]) -> bool:
        """Return whether a changed version may exclude others: younger ones that use what the author changes.

        Not if the author has not been in their packages, or later than they.
        """
        for other in others:
            theirs = Parts((package, package) for package in other.claimed)
            met = [at for at in one.claimed if theirs.overlaps(at)]
            if any(self.rank(one, at)[0] == math.inf for at in met):
                return False
            shared = other.claimed.intersection(met)
            if any(self.rank(one, at) > self.rank(other, at) for at in shared) or (not shared and one.age > other.age):
                return False
        return True

    def find_cost(self, submission: Submission) -> float:
        """Return the seconds that a submission's tests took until they passed; 0 if they did not."""
        return self._passed[id(submission)][1] if id(submission) in self._passed else 0.0

    def generate(
        self, view: str, guardrails: frozenset[str], lost: Mapping[Key, Mapping[str, str]] | None = None
    ) -> None:
        """Add to sets from now on what is generated for them, see `assembly.generated`.

        `lost` are the modules in place of the lost ones of each author, while the author has no version in the set.
        """
        wanted = (view, guardrails, lost or {})
        if wanted != self._generated:
            self._generated = wanted
            self._compiled.clear()

    def _generate_modules(self, submissions: Sequence[Submission]) -> dict[str, str]:
        view, guardrails, lost = self._generated
        present = {one.author for one in submissions}
        absent = [modules for author, modules in lost.items() if author not in present]
        return generated(submissions, view, guardrails, dict(ChainMap({}, *map(dict, absent))))

    async def make_failing(self, submission: Submission, served: Sequence[Submission]) -> dict[str, str] | None:
        """Return modules in place of those of a submission, by path, in which its rules fail.

        Names that the rules of others in `served` would contradict stay theirs. None: all rules have such names.
        Raises CheckError if rules are unknown.
        """
        lost = [one for one in await self._find_heads(submission) if one[0][0] != "bridge"]
        mine = Parts({(package, package) for package, _ in lost})
        theirs: RuleHeads[Submission] = RuleHeads()
        for other in served:
            if any(map(mine.overlaps, other.claimed)):
                for package, head in await self._find_heads(other):
                    theirs.add(other, _as_varying(package, head))
        # What fails contradicts equal constants, too.
        taken = await _find_contradicted(theirs, [_as_varying(package, head) for package, head in lost])
        kept = [one for one, owner in zip(lost, taken, strict=True) if owner is None]
        if lost and not kept:
            return None
        modules: dict[str, tuple[DataPath, list[RuleHead]]] = {}
        for package, head in kept:
            modules.setdefault(head.path, (package, []))[1].append(head)
        return {
            f"lost/{path.replace('/', '.')}": failing_rules(package, heads)
            for path, (package, heads) in modules.items()
        }

    async def _find_heads(self, submission: Submission) -> list[tuple[DataPath, RuleHead]]:
        """Return the rules of a submission with their packages. Raises CheckError if they are unknown."""
        places = Places([submission])
        found = await self._find_rules(submission, places)
        require_result(one.code for one in found if isinstance(one, Finding))
        return [
            (package, head)
            for head in found
            if isinstance(head, RuleHead) and (package := places.packages.get(head.path))
        ]

    def describe(self, submissions: Sequence[Submission]) -> ServedModules:
        """Return of what the bundle of a set is made."""
        view, guardrails, _ = self._generated
        return ServedModules(self._shipped, submissions, view, guardrails)

    def bundle(self, submissions: Sequence[Submission], *, replicated: bool = False) -> Bundle:
        """Return the bundle of a set; with `replicated` for an OPA to which a bridge writes objects."""
        return assemble(self._shipped, submissions, self._generate_modules(submissions), replicated=replicated)

    async def find_faults(self, submissions: Sequence[Submission]) -> Sequence[Fault]:
        """Return all faults of a set. Raises OpaError if OPA does not respond, CheckError if `opa` is broken."""
        if not submissions and not self._generated[2]:
            return []
        found = await self._check_claims(submissions)
        return found or await self._compile(submissions) or await self._check_rules(submissions)

    async def may_claim(self, submission: Submission, others: Sequence[Submission]) -> bool:
        """Return whether a submission, compiling or not, takes no place in `data` from others."""
        return all(fault.author != submission.author for fault in await self._check_claims([*others, submission]))

    async def _check_claims(self, submissions: Sequence[Submission]) -> list[Fault]:
        found = [*find_disputes(submissions)] or [*self._check_view(submissions)]
        return found or await self._check_obstacles(submissions)

    def _check_view(self, submissions: Sequence[Submission]) -> Iterator[Fault]:
        """Return the packages in the place of a type of the view."""
        types = types_of_view(self._generated[0])
        for submission in submissions:
            for name, package in submission.packages.items():
                if package[:1] == VIEW and package[1:2] and package[1] in types:
                    text = (
                        f"data.kubernetes.{package[1]} has the replicated objects of that type: choose another "
                        f"package, such as kubernetes.admission.{package[1]}"
                    )
                    line = line_of_package(submission.modules[name])
                    yield Fault(submission.author, ModuleProblem(name, line, 1, "claim_refused", text), own=True)

    async def _check_rules(self, submissions: Sequence[Submission]) -> Sequence[Fault]:
        """Return the rules that can contradict those of an older author of their package, or of one above or below it.

        OPA would find that only when it evaluates both, and then neither has a value.
        """
        shared = _find_shared(submissions)
        claims: dict[DataPath, dict[Key, list[_Claim]]] = {}  # by the root of packages, and the next part
        sharing = [one for one in submissions if not one.claimed.isdisjoint(shared)]
        await self.read_rules(sharing)
        for submission in sharing:
            places = Places([submission])
            for head in await self._find_rules(submission, places):
                if isinstance(head, Finding):
                    return [replace(places.fault(*head), author=submission.author, own=True)]
                package = places.packages.get(head.path)
                if package and package in shared:
                    path = (*package, str(head.ref[0][1]))[: len(shared[package]) + 1]
                    claim = _Claim(submission, head, package, head.within(package))
                    claims.setdefault(path, {}).setdefault(submission.author, []).append(claim)
        return [
            fault
            for found in claims.values()
            if len(found) > 1
            for fault in await self._name_contradictions([*found.values()])
        ]

    async def _name_contradictions(self, claims: Sequence[Sequence[_Claim]]) -> list[Fault]:
        """Return one fault for each author of rules that may contradict those of an older one."""
        faults: list[Fault] = []
        taken: RuleHeads[Submission] = RuleHeads()
        for claim in sorted(claims, key=lambda rules: min(self.rank(one.submission, one.package) for one in rules)):
            owners = await _find_contradicted(taken, [one.full for one in claim])
            fault = next(
                (
                    self._describe_contradiction(one, owner.author)
                    for one, owner in zip(claim, owners, strict=True)
                    if owner
                ),
                None,
            )
            if fault:
                faults.append(fault)
                continue
            for one in claim:
                taken.add(one.submission, one.full)
        return faults

    def _describe_contradiction(self, claim: _Claim, owner: Key) -> Fault:
        places, path = Places([claim.submission]), claim.head.path
        line = line_of_rule(places.modules[path], claim.head.name)
        text = f"{claim.full.name} belongs to {owner}, and may have other values: rename the rule"
        return replace(places.fault(path, line, 1, RULE_CONFLICT, text), own=True)

    async def read_rules(self, submissions: Iterable[Submission]) -> None:
        """Find the rules of several submissions with few processes; what fails is left to a process for each."""
        left = [one for one in submissions if id(one) not in self._heads]
        while len(left) > 1:
            sizes = accumulate(sum(map(len, one.modules.values())) for one in left)
            count = max(1, sum(1 for size in sizes if size <= _READ_AT_ONCE))
            part, left = left[:count], left[count:]
            places = Places(part)
            found = await self._checker.find_rules(places.modules, places.old)
            if any(isinstance(one, Finding) for one in found):
                return
            heads: dict[Key, list[RuleHead | Finding]] = {one.author: [] for one in part}
            for head in found:
                heads[places.author_of(head.path)].append(head)
            for one in part:
                _remember(self._heads, id(one), (one, heads[one.author]), _TESTED)

    async def _find_rules(self, submission: Submission, places: Places) -> Sequence[RuleHead | Finding]:
        if id(submission) not in self._heads:
            found = await self._checker.find_rules(places.modules, places.old)
            if any(isinstance(one, Finding) and one.code in REPEATED for one in found):
                return found
            _remember(self._heads, id(submission), (submission, found), _TESTED)
        return self._heads[id(submission)][1]

    async def _check_obstacles(self, submissions: Sequence[Submission]) -> list[Fault]:
        # By each claim, not by what they have in common: data at `team` must not reject a module in `team.b`.
        taken = await self._find_obstacles({at for submission in submissions for _, at in list_claims(submission)})
        return [
            Fault(submission.author, _describe_obstacle(name, at, taken[at]), own=True)
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
            found = [fault for submission in submissions for fault in await self._check_excess(submission)]
        if not found:
            served = {author for _, author in self._since}
            newcomers = bool(served) and not served.issuperset(one.author for one in submissions if one.modules)
            checked = await self._checker.check(places.modules, added, places.old, newcomers=newcomers)
            found = _read_faults(checked, places)
            found = [_name_largest(fault, submissions) if fault.problem.code == MEMORY else fault for fault in found]
        if not found:
            for submission in submissions:
                found += await self._test(submission, submissions, places, added)
        if not any(fault.problem.code in REPEATED for fault in found):
            _remember(self._compiled, name, (submissions, found), _REMEMBERED)
        return found

    async def _check_outside_access(self, submission: Submission) -> list[Fault]:
        if id(submission) in self._harmless:
            return []
        places = Places([submission, replace(submission, modules=submission.tests)])
        found = _read_faults(await self._checker.find_outside_access(places.modules, places.old), places, own=True)
        if not found:
            _remember(self._harmless, id(submission), submission, _TESTED)
        return found

    async def _check_excess(self, submission: Submission) -> list[Fault]:
        if id(submission) in self._bounded:
            return []
        places = Places([submission])
        found = await self._checker.find_excess(places.modules, places.old)
        if not found:
            _remember(self._bounded, id(submission), submission, _TESTED)
        return [replace(places.fault(*finding), author=submission.author, own=True) for finding in found]

    async def _test(
        self,
        submission: Submission,
        submissions: Sequence[Submission],
        places: Places,
        added: Mapping[str, str],
    ) -> list[Fault]:
        if not submission.tests or id(submission) in self._passed:
            return []
        tests = Places([replace(submission, modules=submission.tests)], "tests/")
        started = time.monotonic()
        data = document(self._shipped, submissions)
        found = await self._checker.test(places.modules, added, tests.modules, data, places.old)
        if not found:
            _remember(self._passed, id(submission), (submission, time.monotonic() - started), _TESTED)
        # A test that conflicts with others' modules is at fault itself: without it the set compiles.
        return [replace(fault, author=submission.author) for fault in _read_faults(found, tests, own=True)]


def _as_varying(package: DataPath, head: RuleHead) -> RuleHead:
    """Return a rule of a package with its whole path, and with any value."""
    return head.within(package)._replace(constant="")


async def _find_contradicted(known: RuleHeads[Submission], heads: Sequence[RuleHead]) -> list[Submission | None]:
    """Return for each rule the owner of one of the known rules that it may contradict."""
    found: dict[tuple[Any, ...], Submission | None] = {}
    names = [(head.terms, head.exclusive, head.constant) for head in heads]
    for name, head in zip(names, heads, strict=True):
        if name not in found:
            found[name] = known.find_contradicted(head)
            if len(found) % _COMPARED == 0:
                await asyncio.sleep(0)
    return [found[name] for name in names]


def require_result(codes: Iterable[str]) -> None:
    """Raise CheckError if one of these codes of problems means that a check had no result."""
    if PASSING.intersection(codes):
        raise CheckError("a check of modules had no result in time")


def _remember(known: dict[Any, Any], name: Any, value: Any, most: int) -> None:
    """Keep a value, with the submissions whose ids are in its name: the ids are not reused."""
    if len(known) >= most:
        del known[next(iter(known))]
    known[name] = value


def _read_faults(found: Sequence[Finding], places: Places, *, own: bool = False) -> list[Fault]:
    faults = [places.fault(*finding) for finding in found]
    return [
        replace(fault, own=own or fault.problem.code in _OWN or fault.problem.message.startswith(_MISSING))
        for fault in faults
    ]


def _name_largest(fault: Fault, submissions: Sequence[Submission]) -> Fault:
    """Add the authors with the largest modules: the set needs too much memory, whichever version joins it last."""
    sizes = {one.author: sum(map(len, one.modules.values())) for one in submissions}
    largest = sorted(sizes, key=lambda author: (-sizes[author], author))[:2]
    named = " and ".join(f"{author} ({max(1, sizes[author] >> 10)} KiB)" for author in largest)
    return replace(fault, problem=replace(fault.problem, message=f"{fault.problem.message}; the largest are {named}"))


def _find_shared(submissions: Sequence[Submission]) -> dict[DataPath, DataPath]:
    """Return the packages that are equal to, above or below one of another author, each with the topmost of these."""
    authors: dict[DataPath, set[Key]] = {}
    topmost: dict[DataPath, DataPath] = {}
    top: DataPath = ()
    for package, author in sorted((package, one.author) for one in submissions for package in one.claimed):
        if not top or package[: len(top)] != top:  # what is below a package follows it
            top = package
        topmost[package] = top
        authors.setdefault(top, set()).add(author)
    return {package: top for package, top in topmost.items() if len(authors[top]) > 1}


def list_claims(submission: Submission) -> list[tuple[str, DataPath]]:
    """Return the parts of `data` that a submission owns, each with its module, "" for data."""
    return [*submission.packages.items(), *(("", at) for at in submission.data)]


def _describe_obstacle(name: str, path: DataPath, owner: str) -> ModuleProblem:
    instead = (
        "keep data outside of the packages of policies, or in a ConfigMap with the label openpolicyagent.org/data"
        if owner == DATA_OF_CLIENTS
        else "put all modules of a package into ConfigMaps, or choose another package"
    )
    text = f"OPA has {owner} at {'.'.join(path)}, which the bridge's bundle would erase: {instead}"
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
    claimed = {package for submission in submissions for package in submission.packages.values()}
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
    failing: Mapping[tuple[str, str], OpaError],
    submissions: Sequence[Submission],
    rank: Callable[[Submission], Any] = lambda one: one.age,
) -> dict[Key, tuple[ModuleProblem, ...]]:
    """Return what fails on single items, by the author who is the cause, see `find_culprit`."""
    found: dict[Key, list[ModuleProblem]] = {}
    places = Places(submissions if failing else ())
    for (_, item), error in sorted(failing.items(), key=lambda entry: entry[0]):
        for one in error.errors[:1] if isinstance(error, OpaRejected) else ():
            fault = fault_of(one, places)
            if culprit := find_culprit(fault, submissions, rank):
                problem = describe_for(culprit.author, fault)
                message = f"fails on {item}: {problem.message}"
                found.setdefault(culprit.author, []).append(replace(problem, message=message))
    return {author: tuple(problems) for author, problems in found.items()}


def find_culprit(
    fault: Fault, submissions: Sequence[Submission], rank: Callable[[Submission], Any]
) -> Submission | None:
    """Return the submission that causes a fault of an evaluation; None if that is in no author's module.

    A contradiction in a package of several authors is due to the youngest one, the last by `rank`: without that author
    the older rules had one value.
    """
    owner = next((one for one in submissions if one.author == fault.author), None)
    if owner is None or fault.problem.code != EVALUATION_CONFLICT:
        return owner
    own = owner.packages
    wanted = {own[fault.problem.file]} if fault.problem.file in own else owner.claimed
    return max((one for one in submissions if one is owner or not wanted.isdisjoint(one.claimed)), key=rank)


def describe_for(author: Key, fault: Fault) -> ModuleProblem:
    """Return the problem of a fault for an author, with its place in the message if it is in another's module."""
    if problem := fault.problem_of(author):
        return problem
    message = f"{_name_place(fault)}: {fault.problem.message}"
    return replace(fault.problem, file="", line=0, column=0, message=message)


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
MayBreak = Callable[[Submission, Sequence[Submission]], bool]  # of a version, and of others that fail beside it


async def select(
    active: Sequence[Submission], joining: Sequence[Submission], check: Check, may_break: MayBreak = lambda *_: False
) -> tuple[Chosen, Problems]:
    """Return the active submissions with those of `joining` that compile beside them, and the problems of the others.

    `check` returns the faults of a set. In both arguments the first has precedence. An active one is rejected only if
    it does not compile without what has gone, or beside another version of an author that `may_break` it. Raises
    CheckError if that is unknown.
    """
    selection, together = _Selection(check, may_break), joined({}, [*active, *joining])
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
    def __init__(self, check: Check, may_break: MayBreak) -> None:
        self._may_break = may_break
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
            without = await self._exclude_broken(base, joining[0], faults)
            if without is None:
                self.problems[id(joining[0])] = problems_of(joining[0].author, faults)
            return base if without is None else without
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

    async def _exclude_broken(self, base: Chosen, one: Submission, faults: Sequence[Fault]) -> Chosen | None:
        """Return `base` with a changed version instead of those that it breaks; None if it must not break them."""
        broken = {fault.author for fault in faults if fault.author}
        others = [base[author] for author in broken if author in base]
        fails_itself = one.author in broken or any(fault.author is None for fault in faults)
        if fails_itself or one.author not in base or len(others) < len(broken) or not self._may_break(one, others):
            return None
        without = joined({author: other for author, other in base.items() if author not in broken}, [one])
        if await self.find_faults(without):
            return None
        for other in others:
            self.problems[id(other)] = tuple(fault.problem for fault in faults if fault.author == other.author)
        return without

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
    own = tuple(problem for fault in faults if (problem := fault.problem_of(author)))
    return own or tuple(
        ModuleProblem("", 0, 0, fault.problem.code, f"breaks {_name_place(fault)}: {fault.problem.message}")
        for fault in faults
    )


def _name_place(fault: Fault) -> str:
    problem = fault.problem
    where = f"{problem.file}:{problem.line}" if problem.file else "the set of modules"
    return f"{fault.author} {where}" if fault.author else where
