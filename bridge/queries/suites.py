"""Suites: expectations about effective policies beside manifests, and what differs from them.

    apiVersion: test.policybridge.io/v1alpha1
    kind: Suite
    manifests: [.]
    tests:
    - name: the checkout keeps the contrast of the Gateway
      effective:
      - target: HTTPRoute/shop/cart#checkout
        policyKind: ColorPolicy
        spec: {contrast: 7}

An expectation is partial: what it names must hold, and it says nothing about the rest.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from bridge.files import MOST_OF_INPUT, read_file
from bridge.model.keys import Key, parse_key
from bridge.model.nesting import as_mapping
from bridge.model.text import nearest
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.queries.analysis import doubtful, held_crds, is_error, read_applied, select_doubts
from bridge.queries.asking import (
    Entry,
    effective_everywhere,
    in_batches,
    one_target,
    policy_kind,
    require_namespace,
)
from bridge.queries.names import CommandError, NameNotFoundError, short_key
from bridge.queries.states import PlannedChange, States, opened_states, plan_change
from bridge.queries.statuses import condition_groups
from bridge.sources.manifests import SUITE_GROUP, find_files, is_suite, take_apart
from bridge.sources.yaml import BrokenDocument, Lines, read_documents

if TYPE_CHECKING:
    from bridge.offline.engine import Engine

API_VERSION = f"{SUITE_GROUP}v1alpha1"
Names = dict[str, str]  # by the name of an object, section or pointer


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of a suite: a field that it does not know is an error."""


class Policies(_Part, frozen=True, kw_only=True):
    """What is in effect at a target: of one policy kind, on every path, or on those through `via`.

    `spec` is contained in the effective spec, or equal with `exact`; of a kind of which every policy applies, a mapping
    in the spec of one policy, a list in those of all policies in order. `absent` are JSON pointers that it lacks.
    `none`: no policy is in effect. `origins` have the policy or policies of a JSON pointer; `outcomes` the outcome of
    a policy.
    """

    policy_kind: str
    via: str = ""
    none: bool = False
    spec: dict[str, Any] | list[dict[str, Any]] = {}
    exact: bool = False
    absent: list[Annotated[str, msgspec.Meta(pattern="^/")]] = []
    origins: dict[str, str | list[str]] = {}
    outcomes: Names = {}


class At(Policies, frozen=True, kw_only=True):
    """What is in effect at one target, for requests of any namespace or of one (in a mesh).

    An object that is not an effective target itself stands for all effective targets below it.
    """

    target: str
    source_namespace: str = ""


class Sent(_Part, frozen=True, kw_only=True, omit_defaults=True):
    """A request, as the input of the query `request`."""

    host: str = ""
    path: str = ""
    method: str = ""
    headers: dict[str, str | list[str]] = {}
    query: dict[str, str | list[str]] = {}
    grpc: dict[str, str] = {}
    sni: str = ""
    protocol: str = ""
    port: int = 0
    gateway: str = ""
    source_namespace: str = ""


class Request(_Part, frozen=True, kw_only=True):
    """The answer to a request; `rule: null` means that no rule serves it."""

    query: Sent = msgspec.field(name="input")
    rule: str | msgspec.UnsetType | None = msgspec.UNSET
    listener: str = ""
    reason: str = ""
    effective: list[Policies] = []

    def __post_init__(self) -> None:
        """Raise ValueError if every answer would do."""
        if self.rule is msgspec.UNSET and not (self.listener or self.reason or self.effective):
            raise ValueError("the request expects nothing: state rule, listener, reason or effective")


class Changed(_Part, frozen=True, kw_only=True):
    """What is applied (files beside the suite) and deleted before the test's questions."""

    apply: list[str] = []
    delete: list[str] = []


class Case(_Part, frozen=True, kw_only=True):
    """One test. `status` has by policy the status or reason of condition types; the others lists of names by object."""

    name: str
    changes: Changed = Changed()
    effective: list[At] = []
    request: Request | None = None
    status: dict[str, Names] = {}
    problems: dict[str, list[str]] = {}
    violations: dict[str, list[str]] = {}

    def __post_init__(self) -> None:
        """Raise ValueError if the test would pass whatever is in effect."""
        if not (self.effective or self.request or self.status or self.problems or self.violations):
            raise ValueError("the test expects nothing: state effective, request, status, problems or violations")
        for policy, conditions in self.status.items():
            if not conditions:
                raise ValueError(f"the test expects no condition of {policy}")


class Suite(_Part, frozen=True, kw_only=True):
    """The tests of a file, and the manifests that they are about, as paths beside the file."""

    api_version: str
    kind: str
    metadata: dict[str, Any] = {}
    manifests: list[str] = msgspec.field(default_factory=lambda: ["."])
    tests: list[Case]


@dataclass(frozen=True, slots=True)
class Found:
    """A suite with its file and the line of each test."""

    file: Path
    lines: tuple[int, ...]
    suite: Suite

    @property
    def manifests(self) -> tuple[str, ...]:
        """Return the paths of the manifests."""
        return tuple(str(self.file.parent / path) for path in self.suite.manifests)


Place = tuple[str | int, ...]  # keys and indexes from a suite down to a field


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one test: `differences` are lines, none if it passes; `error` says why it could not be judged."""

    file: str
    line: int
    name: str
    differences: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def passed(self) -> bool:
        """Return whether the test passes."""
        return not self.differences and not self.error


def find_suites(paths: Sequence[str]) -> list[Found]:
    """Return the suites in files and folders.

    Raises CommandError for one that is invalid, with its file and line, and ManifestError for a missing path.
    """
    return [suite for path in paths for file in find_files(Path(path)) for suite in _read_suites(file)]


def _read_suites(file: Path) -> Iterator[Found]:
    try:
        content = read_file(file, MOST_OF_INPUT)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error
    # Some editors and shells write UTF-16: such a suite must not be left out silently.
    if SUITE_GROUP.encode() not in content.replace(b"\0", b""):
        return
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{file}: not UTF-8 text") from error
    for document in read_documents(text):
        if isinstance(document, BrokenDocument):
            raise CommandError(f"{file}:{document.line}: {document.reason}")
        for value, line in take_apart(document.value, document.line, document.item_lines):
            if is_suite(value):
                suite = _convert(value, file, text, line)
                is_whole = value is document.value
                yield Found(file, document.item_lines if is_whole else (line,) * len(suite.tests), suite)


def _convert(value: Any, file: Path, text: str, line: int) -> Suite:
    """Return the suite that begins at a line of a text. Raises CommandError for one that is invalid."""
    try:
        suite = msgspec.convert(value, Suite)
    except msgspec.ValidationError as error:
        line = Lines(text).of(line, _place_of(str(error)))
        raise CommandError(f"{file}:{line}: {_explain(str(error))}") from error
    if (suite.api_version, suite.kind) != (API_VERSION, "Suite"):
        raise CommandError(f"{file}:{line}: not a Suite of {API_VERSION}")
    return suite


def _place_of(message: str) -> Place:
    """Return the place that msgspec's message names: "… unknown field `x` - at `$.tests[0]`"."""
    path = re.search(r"at `\$([^`]*)`$", message)
    steps = re.findall(r"\.([^.[]+)|\[(\d+)\]", path[1]) if path else []
    unknown = re.match(r"Object contains unknown field `([^`]+)`", message)
    return (*(name or int(number) for name, number in steps), *([unknown[1]] if unknown else []))


def _explain(message: str) -> str:
    """Return msgspec's message about a field, with the nearest name of an unknown one."""
    unknown = re.match(r"Object contains unknown field `([^`]+)`", message)
    known = {
        each.encode_name for part in (Suite, Case, At, Request, Sent, Changed) for each in msgspec.structs.fields(part)
    }
    near = nearest(unknown[1], known) if unknown else None
    return message + (f'; did you mean "{near}"?' if near else "")


def suite_schema() -> dict[str, Any]:
    """Return the JSON schema of a suite, for editors."""
    return msgspec.json.schema(Suite)


async def draft_suite(opa: Opa, kind: str | None, namespace: str | None) -> tuple[dict[str, Any], list[str]]:
    """Return a suite with what is in effect now, a test for each object, and a text for each result that it lacks.

    It lacks what no expectation can hold: answers that are not certain, and paths that no single node distinguishes.
    """
    by_object: dict[Key, list[dict[str, Any]]] = {}
    left_out: list[str] = []
    chosen = await policy_kind(opa, kind) if kind else None
    kinds = [type_id.partition("/")[2] for type_id in await opa.query("types", {})]

    def name(key: Key) -> str:
        return short_key(key) if kinds.count(key.kind) < 2 else str(key)

    for entry in await effective_everywhere(opa, chosen, namespace, all_paths=True):
        key = parse_key(entry["target"])
        for via, path in _choose_nodes(entry["paths"]):
            where = f"{short_key(key)} via {_name_gateway(path)}: {entry['policyKind']}"
            if "notAttached" in path:
                left_out.append(f"{where}: not attached: {'; '.join(path['notAttached'])}")
            elif "spec" not in path or "incomplete" in path:
                left_out.append(f"{where}: {'; '.join(path.get('incomplete', ())) or path['error']['message']}")
            elif via is None:
                left_out.append(f"{where}: no node is on this path alone")
            else:
                about = {"target": name(key), "policyKind": entry["policyKind"]}
                about |= {"via": name(parse_key(via))} if via else {}
                by_object.setdefault(key.object, []).append({**about, "spec": path["spec"]})
    tests = [{"name": short_key(key), "effective": found} for key, found in sorted(by_object.items())]
    return {"apiVersion": API_VERSION, "kind": "Suite", "tests": tests}, left_out


def _choose_nodes(paths: Sequence[Entry]) -> Iterator[tuple[str | None, Entry]]:
    """Yield a path to a target for each of its results, with the node that only paths with this result have.

    The node is "" if all paths have the same result, and None if there is no such node: then each path is yielded.
    """
    results = [json.dumps([path.get(name) for name in ("spec", "error", "incomplete")]) for path in paths]
    by_node: dict[str, set[str]] = {}
    for path, result in zip(paths, results, strict=True):
        for node in path["path"]:
            for on in {node, node.partition("#")[0]}:
                by_node.setdefault(on, set()).add(result)
    chosen: set[str | None] = set()
    for path, result in zip(paths, results, strict=True):
        nodes = sorted((node for node in path["path"] if node.count("/") == 3), key=lambda node: "#" not in node)
        node = "" if len(set(results)) == 1 else next((on for on in nodes if by_node[on] == {result}), None)
        if path["policies"] and (node is None or node not in chosen):
            yield node, path
            chosen.add(node)


async def run_test(engine: Engine, found: Found, number: int) -> Result:
    """Ask what a test asks, in the state after its changes, and compare."""
    test = found.suite.tests[number]
    line = found.lines[number] if number < len(found.lines) else 1
    try:
        change, doubts = await _plan(engine, found.file.parent, test.changes)
        async with opened_states(engine, change) as states:
            judge = _Judge(states, change, doubts)
            judge.check_modules()
            await judge.check_values(test)
            differences = [difference async for difference in judge.differences(test)]
        return Result(str(found.file), line, test.name, differences)
    except (CommandError, OpaError) as error:
        return Result(str(found.file), line, test.name, error=str(error))


_Doubts = Callable[[Collection[str]], list[Entry]]


async def _plan(engine: Engine, folder: Path, changes: Changed) -> tuple[PlannedChange, _Doubts]:
    """Read the changes of a test. Returns also a function of keys: what an API server refuses or drops of the objects.

    Raises CommandError for manifests with errors and unknown names.
    """
    files = [str(folder / name) for name in changes.apply]
    applied = read_applied(files, await held_crds(engine)) if files else None
    if applied and applied.problems:
        raise CommandError(f"{applied.problems[0].subject}: {applied.problems[0].message}")
    read = (
        [Path(os.path.normpath(place[0])) for key in applied.keys if (place := applied.position(key))]
        if applied
        else []
    )
    for name in files:
        if not any(file.is_relative_to(os.path.normpath(name)) for file in read):
            raise CommandError(f"no objects in {name}")
    deleted = [await one_target(engine.opa, [name], None) for name in changes.delete]

    def find_doubts(keys: Collection[str]) -> list[Entry]:
        of_change = [key for key in keys if applied and parse_key(key) in applied.keys]
        others = [key for key in keys if key not in of_change]
        found = applied.source.doubts((), of_change) if applied and of_change else []
        return doubtful([*found, *(engine.doubts((), others) if others else ())])

    return await plan_change(engine, applied.objects if applied else (), deleted), find_doubts


class _Judge:
    """Queries the state after the changes of a test, and yields what differs from its expectations."""

    def __init__(self, states: States, change: PlannedChange, doubts: _Doubts) -> None:
        self._before, self._state = states.before, states.after
        self._opa, self._more = states.after.opa, states.after.more
        self._upserts, self._deletions = change.upserts, change.deletions
        self._doubts = doubts
        self._inactive: list[Entry] | None = None  # the Constraints that are not active

    def check_modules(self) -> None:
        """Raise CommandError for Rego that the changes break: the answers would be without it."""
        for one in self._state.problems:
            if one not in self._before.problems:
                raise CommandError(f"{one['subject']}: {one['message']}")

    async def check_values(self, test: Case) -> None:
        """Raise CommandError for applied objects that an API server refuses, unless the test expects their problems."""
        expected = {str((await self._key(name)).object) for name in test.problems}
        keys = {str(key) for key in self._upserts} - expected
        if wrong := [one for one in (self._doubts(keys) if keys else ()) if is_error(one)]:
            raise CommandError(f"{short_key(parse_key(wrong[0]['subject']))}: {wrong[0]['message']}")

    async def differences(self, test: Case) -> AsyncIterator[str]:
        """Yield each difference, which begins with the object that it is about."""
        for at in test.effective:
            async for one in self._at(at):
                yield one
        if test.request:
            async for one in self._request(test.request):
                yield one
        for name, wanted in test.status.items():
            async for one in self._status(await self._key(name), wanted):
                yield f"{name}: {one}"
        for what, findings in (("problems", test.problems), ("violations", test.violations)):
            for name, names in findings.items():
                async for one in self._names(name, what, names):
                    yield f"{name}: {what}: {one}"

    async def _names(self, name: str, what: str, wanted: Sequence[str]) -> AsyncIterator[str]:
        """Compare the reasons of an object's problems, or the Constraints that it violates without an exemption."""
        key = (await self._key(name)).object
        if not await self._exists(key):
            yield "the object does not exist"
            return
        if what == "violations":
            if self._inactive is None:
                asked = await self._ask("constraints", {})
                self._inactive = [one for one in asked if one["condition"]["status"] != "True"]
            meant = {"constraints": [one["constraint"] for one in self._inactive], "objects": [str(key)]}
            for one in await self._ask("constraints", meant) if self._inactive else ():
                yield f"Constraint/{one['constraint']} is not active: {one['condition']['message']}"
            if not await self._is_judged(key):
                yield "no Constraint matches the object"
                return
        rows = [row for row in await self._state.violations([str(key)]) if "exemption" not in row]
        if what == "problems":
            answer = await in_batches(self._opa, what, "objects", [str(key)], {**self._more, **self._deletions})
            answer += select_doubts(self._doubts([str(key)]), [str(key)], answer)
            found = {one["reason"] for one in answer if one["subject"] == str(key)} | {"Violation" for _ in rows}
        else:
            found = {row["constraint"] for row in rows}
            for row in rows:
                if as_mapping(row["details"]).get("severity") == "unknown":
                    yield f"{row['constraint']} cannot tell: {row['message']}"
        if found != set(wanted):
            yield f"expected {_join_names(sorted(wanted))}, found {_join_names(sorted(found))}"

    async def _is_judged(self, key: Key) -> bool:
        judged = await self._ask("audit_keys", {"objects": [str(key)]})
        return any(judged.values())

    async def _at(self, at: At) -> AsyncIterator[str]:
        key = await self._key(at.target)
        kind = await self._kind(at.policy_kind)
        await require_namespace(self._opa, at.source_namespace, self._more)
        more = {"sourceNamespace": at.source_namespace} if at.source_namespace else {}
        answer = await self._ask("effective", {"targets": [str(key)], "policyKind": kind, "allPaths": True, **more})
        itself = [entry for entry in answer if entry["target"] == str(key)]
        about = {"target": str(key), "policyKind": kind}
        async for one in self._policies(at, short_key(key), itself or answer, about):
            yield one

    async def _status(self, key: Key, wanted: Names) -> AsyncIterator[str]:
        answer = await self._ask("status", {"policies": [str(key)]})
        groups = [group for entry in answer for group in condition_groups(entry)]
        if not groups:
            yield "it has no status: it is not a policy of an active policy kind, or does not exist"
        for group in groups:
            for one in _compare_conditions(wanted, {each["type"]: each for each in group}):
                yield one
        for why in (why for entry in answer for why in entry.get("incomplete", ())):
            if set(wanted) - {"Accepted"}:
                yield f"the outcome is incomplete: {why}"

    async def _request(self, request: Request) -> AsyncIterator[str]:
        await require_namespace(self._opa, request.query.source_namespace, self._more)
        query = msgspec.to_builtins(request.query)
        if "gateway" in query:
            query["gateway"] = str(await self._key(query["gateway"]))
        answer = await self._ask("request", {**query, "allPaths": True})
        first = [one async for one in self._entry(request, answer)]
        for one in first:
            yield f"request: {one}"
        # What is in effect at the rule is so wherever the request enters.
        entries = answer["also"] if request.effective and not request.listener else ()
        for other in (entry for entry in entries if entry["rule"] == answer["rule"]):
            more = {name: other[name] for name in ("gateway", "port") if other.get(name)}
            entry = await self._ask("request", {**query, **more, "allPaths": True})
            async for one in self._entry(request, entry):
                if one not in first:
                    yield f"request at {_show_key(other['listener'] or other['gateway'])}: {one}"

    async def _entry(self, request: Request, answer: Entry) -> AsyncIterator[str]:
        """Compare the answer at one entry point."""
        if answer["undecided"] and (request.effective or not isinstance(request.rule, msgspec.UnsetType)):
            yield f"the rule is unknown: {answer['nearest']['message']}"
            return
        wanted: dict[str, str | None] = {"listener": request.listener} if request.listener else {}
        if not isinstance(request.rule, msgspec.UnsetType):
            wanted["rule"] = request.rule
        for name, expected in wanted.items():
            key = str(await self._key(expected)) if expected else None
            if answer[name] != key:
                reason = f" ({answer['nearest']['reason']})" if answer["nearest"] else ""
                yield f"{name}: expected {_show_key(key)}, found {_show_key(answer[name])}{reason}"
        reason = (answer["nearest"] or {}).get("reason", "")
        if request.reason and request.reason != reason:
            yield f"reason: expected {request.reason}, found {reason or 'none'}"
        if request.effective and not answer["rule"]:
            yield f"effective: no rule serves the request ({reason})"
            return
        for wanted_policies in request.effective:
            kind = await self._kind(wanted_policies.policy_kind)
            entries = [entry for entry in answer["policies"] if entry["policyKind"] == kind]
            async for one in self._policies(wanted_policies, "", entries, {}):
                yield one.removeprefix(": ")

    async def _policies(
        self, wanted: Policies, where: str, entries: Sequence[Entry], about: Mapping[str, str]
    ) -> AsyncIterator[str]:
        """Yield what the query `unmet` finds at entries of `effective` or `request` with all paths.

        `about` has the target and the policy kind of `effective`.
        """
        expected: dict[str, Any] = {"none": wanted.none, "exact": wanted.exact, "absent": wanted.absent}
        expected |= {"spec": wanted.spec} if wanted.spec else {}
        if wanted.origins:
            names = {pointer: [name] if isinstance(name, str) else name for pointer, name in wanted.origins.items()}
            expected["origins"] = {at: [str(await self._key(one)) for one in some] for at, some in names.items()}
        outcomes = {str(await self._key(name)): name for name in wanted.outcomes}
        if outcomes:
            expected["outcomes"] = {key: wanted.outcomes[name] for key, name in outcomes.items()}
        via = {"via": str(await self._key(wanted.via))} if wanted.via else {}
        for one in await self._ask("unmet", {"entries": entries, "expected": expected, **via, **about}):
            if one["what"] == "NoPath":
                through = f" via {wanted.via}" if wanted.via else ""
                yield f"{where}: no {wanted.policy_kind} can be in effect{through}: no path leads there"
                continue
            at_path = f"{short_key(parse_key(one['target']))} via {_name_gateway(one)}: {wanted.policy_kind}: "
            yield at_path + _read_unmet(one, outcomes)

    async def _kind(self, name: str) -> str:
        """Return the policy kind for a name, also of one that the test describes."""
        try:
            return await policy_kind(self._before.opa, name)
        except NameNotFoundError:
            return await policy_kind(self._opa, name, self._more)

    async def _key(self, name: str) -> Key:
        """Return the key for a name as users type it, also of an object that the test applies or deletes."""
        try:
            return await one_target(self._before.opa, [name], None)
        except NameNotFoundError:
            whole, _, section = name.partition("#")
            kind, *rest = whole.split("/")
            for key in self._upserts:
                if key.kind.lower() == kind.lower() and rest in ([key.namespace, key.name], [key.name]):
                    return key._replace(section=section)
            raise

    async def _exists(self, key: Key) -> bool:
        """Return whether there is such an object after the changes."""
        return str(key) in await self._ask("names", {"types": [key.type_id], "name": key.name})

    async def _ask(self, query: str, query_input: Mapping[str, Any]) -> Any:
        return await self._state.query(query, query_input)


def _compare_conditions(wanted: Names, found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, value in wanted.items():
        condition = found.get(name)
        if condition is None:
            yield f"condition {name}: expected {value}, found none"
        elif value not in {condition["status"], condition["reason"]}:
            there = f"{condition['status']} ({condition['reason']}: {condition['message']})"
            yield f"condition {name}: expected {value}, found {there}"


def _read_unmet(one: Entry, outcomes: Names) -> str:
    """Return an entry of the query `unmet` for people; `outcomes` has the names of policies by their keys."""
    pointer = one.get("pointer", "")
    match one["what"]:
        case "NotAttached":
            return f"no request takes this path: the route is not attached: {'; '.join(one['notAttached'])}"
        case "NotInEffect":
            return "no policy is in effect"
        case "InEffect":
            return f"expected none, found {_show(one['found'])}"
        case "Unknown":
            return f"the answer is not certain: {one['message']}"
        case "Value":
            source = f" from {_join_policies(one['policies'])}" if one["policies"] and "found" in one else ""
            expected, found = ("nothing" if name not in one else _show(one[name]) for name in ("expected", "found"))
            return f"{pointer or '/'}: expected {expected}, found {found}{source}"
        case "Present":
            return f"{pointer}: expected nothing, found it from {_join_policies(one['policies'])}"
        case "Origin":
            expected, found = (_join_policies(one[name]) for name in ("expected", "found"))
            return f"{pointer}: expected from {expected}, found from {found}"
        case _:
            return f"{outcomes[one['policy']]}: expected {one['expected']}, found {one.get('found', 'not here')}"


def _join_policies(policies: Sequence[str]) -> str:
    return ", ".join(short_key(parse_key(policy)) for policy in policies) or "no policy"


def _show(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _show_key(key: str | None) -> str:
    return short_key(parse_key(key)) if key else "none"


def _name_gateway(path: Entry) -> str:
    """Return the node of a path by which a reader tells it from others: the listener, otherwise the first."""
    nodes = [parse_key(node) for node in path["path"] if node.count("/") == 3]
    return short_key(next((key for key in nodes if key.section), nodes[0]))
