"""The submission behind an error: of a check before OPA gets the set, of OPA's activation, or of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog

from bridge.model.keys import Key
from bridge.opa.address import pointer
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaUndefined
from bridge.opa.shipped import Shipped
from bridge.policy_loader.assembly import STRATEGIES, Generate, InTheWay, claimed_roots, document
from bridge.policy_loader.compile_check import PASSING, Checker, Finding
from bridge.policy_loader.ownership import disputes, overlap, packages
from bridge.policy_loader.selection import Entry
from bridge.policy_loader.submissions import DataPath, Fault, ModuleProblem, Places, Submission

if TYPE_CHECKING:  # aiohttp's server, which commands do not need, takes 0.05 s to import
    from bridge.policy_loader.activation import Looked

log = structlog.get_logger(__name__)

_REMEMBERED = 32  # sets
_TESTED = 1000  # remembered submissions with passed tests


class Judge:
    """Checks whole sets, and remembers the results.

    `in_the_way` returns those of some parts of `data` where OPA has documents of other clients. `passed` are
    submissions whose tests need not run (again).
    """

    def __init__(self, checker: Checker, shipped: Shipped, generate: Generate, in_the_way: InTheWay) -> None:
        self._checker = checker
        self._shipped = shipped
        self._generate = generate
        self._in_the_way = in_the_way
        self._compiled: dict[tuple[int, ...], tuple[Sequence[Submission], tuple[Fault, ...]]] = {}
        self._passed: dict[int, Submission] = {}
        self._harmless: dict[int, Submission] = {}

    async def faults(self, submissions: Sequence[Submission]) -> Sequence[Fault]:
        """Return all faults of a set. Raises OpaError if OPA does not respond, CheckError if `opa` is broken."""
        if not submissions:
            return []
        found = [*disputes(submissions)] or [*await self._obstacles(submissions)]
        return found or await self._compile(submissions)

    def forget(self) -> None:
        """Check every set again, because the generated modules have changed."""
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
        found = [fault for submission in submissions for fault in await self._outside_access(submission)]
        if not found:
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

    async def _outside_access(self, submission: Submission) -> list[Fault]:
        if id(submission) in self._harmless:
            return []
        places = Places([submission, replace(submission, modules=submission.tests)])
        found = _faults(await self._checker.find_outside_access(places.modules), places)
        if not found:
            _remember(self._harmless, submission)
        return found

    async def _test(
        self, submission: Submission, submissions: Sequence[Submission], modules: Mapping[str, str]
    ) -> list[Fault]:
        if not submission.tests or id(submission) in self._passed:
            return []
        tests = Places([Submission(submission.author, submission.version, submission.tests)], "tests/")
        found = await self._checker.test(modules, tests.modules, document(self._shipped, submissions))
        if not found:
            _remember(self._passed, submission)
        # A test that conflicts with others' modules is at fault itself: without it the set compiles.
        return [Fault(submission.author, fault.problem) for fault in _faults(found, tests)]


def _remember(known: dict[int, Submission], submission: Submission) -> None:
    if len(known) >= _TESTED:
        del known[next(iter(known))]
    known[id(submission)] = submission  # kept, so its id is not reused


def _faults(found: Sequence[Finding], places: Places) -> list[Fault]:
    return [places.fault(*finding) for finding in found]


def _obstacle(submission: Submission, path: DataPath) -> list[ModuleProblem]:
    text = f"OPA has data of another client at {'.'.join(path)}, which these modules overwrite: choose another package"
    claims = [*packages(submission).items(), *(("", at) for at in submission.data)]
    return [
        ModuleProblem(name, 1 if name else 0, 1 if name else 0, "data_in_the_way", text)
        for name, at in claims
        if overlap(at, path)
    ]


_CONFLICT = "eval_conflict_error"
_REFUSED = "bundle_error"


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
            if any(_fault(one, places).author == author for one in error.errors):
                return True
    return False


class Culprits:
    """Rejects the versions behind OPA's errors; `entries` are all authors."""

    def __init__(self, entries: Mapping[Key, Entry]) -> None:
        self._entries = entries

    def of_evaluation(self, error: Mapping[str, Any], places: Places) -> bool:
        """Reject the version in which an evaluation failed; False if it failed elsewhere."""
        fault = _fault(error, places)
        entry = self._entries.get(fault.author) if fault.author else None
        if entry is None or entry.chosen is None:
            return False
        culprit = self._youngest(entry, fault.problem) if error.get("code") == _CONFLICT else entry
        log.warning("module failed", submission=str(culprit.submitted.author), why=fault.problem.message)
        self._refuse(culprit, (_of(fault, culprit),))
        return True

    def of_refusal(self, looked: Looked, places: Places) -> bool:
        """Reject the versions that OPA names, otherwise the latest; False if all were active before."""
        faults = [_fault(error, places) for error in looked.errors or ({"message": looked.message, "code": _REFUSED},)]
        fresh = [entry for entry in self._entries.values() if entry.chosen and entry.chosen is not entry.confirmed]
        named = [entry for entry in fresh if any(fault.author == entry.submitted.author for fault in faults)]
        culprits = named or sorted(fresh, key=_youth)[-1:]
        for entry in culprits:
            self._refuse(entry, tuple(_of(fault, entry) for fault in faults))
        if not culprits:
            log.error("modules rejected by OPA", why=looked.message, errors=looked.errors)
        return bool(culprits)

    def _refuse(self, entry: Entry, problems: tuple[ModuleProblem, ...]) -> None:
        others = tuple(other.submitted for other in self._sharing(entry) if other is not entry)
        entry.refuse(problems, others)

    def _youngest(self, entry: Entry, problem: ModuleProblem) -> Entry:
        """Return the latest of those that define rules in one package: it makes the others' rules conflict."""
        return max(self._sharing(entry, problem.file), key=_youth)

    def _sharing(self, entry: Entry, module: str = "") -> list[Entry]:
        """Return the entries in the set with a package of this one (or of this module), including itself."""
        own = packages(entry.chosen) if entry.chosen else {}
        wanted = {own[module]} if module in own else set(own.values())
        return [
            other
            for other in self._entries.values()
            if other.chosen and (other is entry or wanted & set(packages(other.chosen).values()))
        ]


def author_of(error: Mapping[str, Any], places: Places) -> Key | None:
    """Return the author of the module that an error is in; None for the bridge's own."""
    return _fault(error, places).author


def failures_by_author(
    failing: Mapping[tuple[str, str], OpaError], submissions: Sequence[Submission]
) -> dict[Key, tuple[ModuleProblem, ...]]:
    """Return what fails on single items in the modules of each author."""
    found: dict[Key, list[ModuleProblem]] = {}
    places = Places(submissions if failing else ())
    for (_, item), error in sorted(failing.items(), key=lambda entry: entry[0]):
        for one in error.errors[:1] if isinstance(error, OpaRejected) else ():
            fault = _fault(one, places)
            if fault.author:
                message = f"fails on {item}: {fault.problem.message}"
                found.setdefault(fault.author, []).append(replace(fault.problem, message=message))
    return {author: tuple(problems) for author, problems in found.items()}


def _youth(entry: Entry) -> tuple[int, tuple[bool, str, Key]]:
    return entry.since, entry.submitted.age


def _fault(error: Mapping[str, Any], places: Places) -> Fault:
    location = error.get("location") or {}
    file, line, column = (location.get(name, 0) for name in ("file", "row", "col"))
    return places.fault(
        str(file or ""), int(line), int(column), str(error.get("code", "")), str(error.get("message", ""))
    )


def _of(fault: Fault, entry: Entry) -> ModuleProblem:
    """Return a fault in the form for its culprit, whose modules it need not be in."""
    if fault.author == entry.submitted.author:
        return fault.problem
    return replace(fault.problem, file="", line=0, column=0)
