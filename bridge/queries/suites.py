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
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from bridge.files import read_file
from bridge.model.changes import Object
from bridge.model.keys import Key, key_of, parse_key, value_at
from bridge.model.text import nearest
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.queries.analysis import held_crds, read_applied
from bridge.queries.asking import Entry, effective_everywhere, in_batches, one_target, policy_kind, violations_by
from bridge.queries.names import CommandError, NameNotFoundError, short_key
from bridge.queries.statuses import condition_groups
from bridge.sources.manifests import MOST_BYTES, SUITE_GROUP, find_files, is_suite
from bridge.sources.yaml import BrokenDocument, Lines, read_documents

API_VERSION = f"{SUITE_GROUP}v1alpha1"
Names = dict[str, str]  # by the name of an object, section or pointer


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of a suite: a field that it does not know is an error."""


class Policies(_Part, frozen=True, kw_only=True):
    """What is in effect at a target: of one policy kind, on every path, or on those through `via`.

    `spec` is contained in the effective spec, or equal with `exact`; `absent` are JSON pointers that it lacks. `none`:
    no policy is in effect. `origins` have the policy of a JSON pointer; `outcomes` the outcome of a policy.
    """

    policy_kind: str
    via: str = ""
    none: bool = False
    spec: dict[str, Any] = {}
    exact: bool = False
    absent: list[Annotated[str, msgspec.Meta(pattern="^/")]] = []
    origins: Names = {}
    outcomes: Names = {}


class At(Policies, frozen=True, kw_only=True):
    """What is in effect at one target, for requests of any namespace or of one (in a mesh).

    An object that is not an effective target itself stands for all effective targets below it.
    """

    target: str
    source_namespace: str = ""


class Request(_Part, frozen=True, kw_only=True):
    """The answer to a request, with the input of the query `request`; `rule: null` means that no rule serves it."""

    query: dict[str, Any] = msgspec.field(name="input")
    rule: str | msgspec.UnsetType | None = msgspec.UNSET
    listener: str = ""
    reason: str = ""
    effective: list[Policies] = []


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


Place = tuple[str | int, ...]  # keys and indexes from a test down to an expectation


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs from an expectation at a place, as text. `found` is the value that would hold there.

    A place of () is that of an expectation that no other value would make hold.
    """

    text: str
    place: Place = ()
    found: Any = None

    def below(self, *place: str | int, text: str = "") -> Difference:
        """Return it with the place of what contains it, and with a text before its own."""
        return Difference(f"{text}{self.text}", (*place, *self.place) if self.place else (), self.found)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one test: `differences` are lines, none if it passes; `error` says why it could not be judged.

    `updates` are the values that would make differing expectations hold, by their places in the test.
    """

    file: str
    line: int
    name: str
    differences: list[str] = field(default_factory=list)
    error: str = ""
    updates: dict[Place, Any] = field(default_factory=dict)

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
        content = read_file(file, MOST_BYTES)
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
        if is_suite(document.value):
            try:
                suite = msgspec.convert(document.value, Suite)
            except msgspec.ValidationError as error:
                line = Lines(text).of(document.line, _place_of(str(error)))
                raise CommandError(f"{file}:{line}: {_explain(str(error))}") from error
            if (suite.api_version, suite.kind) != (API_VERSION, "Suite"):
                raise CommandError(f"{file}:{document.line}: not a Suite of {API_VERSION}")
            yield Found(file, document.item_lines, suite)


def _place_of(message: str) -> Place:
    """Return the place that msgspec's message names: "… unknown field `x` - at `$.tests[0]`"."""
    path = re.search(r"at `\$([^`]*)`$", message)
    steps = re.findall(r"\.([^.[]+)|\[(\d+)\]", path[1]) if path else []
    unknown = re.match(r"Object contains unknown field `([^`]+)`", message)
    return (*(name or int(number) for name, number in steps), *([unknown[1]] if unknown else []))


def _explain(message: str) -> str:
    """Return msgspec's message about a field, with the nearest name of an unknown one."""
    unknown = re.match(r"Object contains unknown field `([^`]+)`", message)
    known = {each.encode_name for part in (Suite, Case, At, Request, Changed) for each in msgspec.structs.fields(part)}
    near = nearest(unknown[1], known) if unknown else None
    return message + (f'; did you mean "{near}"?' if near else "")


def suite_schema() -> dict[str, Any]:
    """Return the JSON schema of a suite, for editors."""
    return msgspec.json.schema(Suite)


async def draft_suite(opa: Opa, kind: str | None, namespace: str | None) -> dict[str, Any]:
    """Return a suite as a document, with what is in effect now: a test for each object with effective targets."""
    by_object: dict[Key, list[dict[str, Any]]] = {}
    chosen = await policy_kind(opa, kind) if kind else None
    for entry in await effective_everywhere(opa, chosen, namespace):
        key = parse_key(entry["target"])
        for path in entry["paths"]:
            if "spec" in path:
                about = {"target": short_key(key), "policyKind": entry["policyKind"], "via": _name_gateway(path)}
                by_object.setdefault(key.object, []).append({**about, "spec": path["spec"]})
    tests = [{"name": short_key(key), "effective": found} for key, found in sorted(by_object.items())]
    return {"apiVersion": API_VERSION, "kind": "Suite", "tests": tests}


async def run_test(opa: Opa, found: Found, number: int) -> Result:
    """Ask what a test asks, and compare."""
    test = found.suite.tests[number]
    line = found.lines[number] if number < len(found.lines) else 1
    try:
        judge = await _Judge.prepare(opa, found.file.parent, test.changes)
        differences = [difference async for difference in judge.differences(test)]
        updates = {one.place: one.found for one in reversed(differences) if one.place}
        return Result(str(found.file), line, test.name, [one.text for one in differences], updates=updates)
    except (CommandError, OpaError) as error:
        return Result(str(found.file), line, test.name, error=str(error))


class _Judge:
    """Asks OPA, as if the changes of a test had been made, and yields what differs from its expectations."""

    def __init__(self, opa: Opa, upserts: Mapping[Key, Object], deleted: Sequence[Key]) -> None:
        self._opa = opa
        self._upserts = upserts
        self._deleted = [str(key) for key in deleted]
        made = {"upsert": list(upserts.values()), "delete": self._deleted}
        self._more = {"changes": made} if upserts or deleted else {}

    @classmethod
    async def prepare(cls, opa: Opa, folder: Path, changes: Changed) -> _Judge:
        """Read the changes of a test. Raises CommandError for manifests with errors and unknown names."""
        upserts: dict[Key, Object] = {}
        if changes.apply:
            applied = read_applied([str(folder / name) for name in changes.apply], await held_crds(opa))
            if applied.problems:
                raise CommandError(f"{applied.problems[0].subject}: {applied.problems[0].message}")
            upserts = {key_of(obj): obj for obj in applied.objects}
        return cls(opa, upserts, [await one_target(opa, [name], None) for name in changes.delete])

    async def differences(self, test: Case) -> AsyncIterator[Difference]:
        """Yield each difference; its text begins with the object that it is about."""
        for number, at in enumerate(test.effective):
            async for one in self._at(at):
                yield one.below("effective", number)
        if test.request:
            async for one in self._request(test.request):
                yield one.below("request")
        for name, wanted in test.status.items():
            async for one in self._status(await self._key(name), wanted):
                yield one.below("status", name)
        for what, findings in (("problems", test.problems), ("violations", test.violations)):
            for name, names in findings.items():
                key = (await self._key(name)).object
                there = sorted(await self._found_names(what, str(key)))
                if there != sorted(names):
                    text = (
                        f"{short_key(key)}: {what}: expected {_join_names(sorted(names))}, found {_join_names(there)}"
                    )
                    yield Difference(text, (what, name), there)

    async def _found_names(self, what: str, key: str) -> set[str]:
        """Return the reasons of an object's problems, or the Constraints that it violates without an exemption."""
        if what == "violations":
            rows = await violations_by(self._opa, [key], None, self._more)
            return {row["constraint"] for row in rows if "exemption" not in row}
        answer = await in_batches(self._opa, what, "objects", [key], self._more)
        return {one["reason"] for one in answer if one["subject"] == key}

    async def _at(self, at: At) -> AsyncIterator[Difference]:
        key = await self._key(at.target)
        kind = await policy_kind(self._opa, at.policy_kind)
        more = {"sourceNamespace": at.source_namespace} if at.source_namespace else {}
        answer = await self._ask("effective", {"targets": [str(key)], "policyKind": kind, **more})
        itself = [entry for entry in answer if entry["target"] == str(key)]
        async for one in self._policies(at, short_key(key), itself or answer):
            yield one

    async def _status(self, key: Key, wanted: Names) -> AsyncIterator[Difference]:
        for entry in await self._ask("status", {"policies": [str(key)]}):
            for group in condition_groups(entry):
                for one in _compare_conditions(wanted, {each["type"]: each for each in group}):
                    yield one.below(text=f"{short_key(key)}: ")

    async def _request(self, request: Request) -> AsyncIterator[Difference]:
        query = dict(request.query)
        if "gateway" in query:
            query["gateway"] = str(await self._key(query["gateway"]))
        answer = await self._ask("request", query)
        wanted: dict[str, str | None] = {"listener": request.listener} if request.listener else {}
        if not isinstance(request.rule, msgspec.UnsetType):
            wanted["rule"] = request.rule
        for name, expected in wanted.items():
            key = str(await self._key(expected)) if expected else None
            if answer[name] != key:
                reason = f" ({answer['nearest']['reason']})" if answer["nearest"] else ""
                text = f"request: {name}: expected {_show_key(key)}, found {_show_key(answer[name])}{reason}"
                yield Difference(text, (name,), _show_key(answer[name]) if answer[name] else None)
        reason = (answer["nearest"] or {}).get("reason", "")
        if request.reason and request.reason != reason:
            text = f"request: reason: expected {request.reason}, found {reason or 'none'}"
            yield Difference(text, ("reason",) if reason else (), reason)
        for number, wanted_policies in enumerate(request.effective):
            kind = await policy_kind(self._opa, wanted_policies.policy_kind)
            entries = [entry for entry in answer["policies"] if entry["policyKind"] == kind]
            async for one in self._policies(wanted_policies, "request", entries):
                yield one.below("effective", number)

    async def _policies(self, wanted: Policies, where: str, entries: Sequence[Entry]) -> AsyncIterator[Difference]:
        via = str(await self._key(wanted.via)) if wanted.via else ""
        paths = [
            (short_key(parse_key(entry["target"])), path)
            for entry in entries
            for path in entry["paths"]
            if not via or any(node == via or node.startswith(f"{via}#") for node in path["path"])
        ]
        if "#" in via and not paths and via.partition("#")[0] not in self._deleted:
            await self._ask("effective", {"targets": [via]})  # raises QueryError for a misspelled section
        if not paths and not wanted.none:
            yield Difference(f"{where}: no {wanted.policy_kind} is in effect{f' via {wanted.via}' if via else ''}")
        for target, path in paths:
            place = f"{target} via {_name_gateway(path)}: {wanted.policy_kind}"
            if "error" in path:
                yield Difference(f"{place}: {path['error']['message']}")
            elif wanted.none:
                yield Difference(f"{place}: expected none, found {json.dumps(path['spec'], sort_keys=True)}")
            else:
                async for one in self._path(wanted, path):
                    yield one.below(text=f"{place}: ")

    async def _path(self, wanted: Policies, path: Entry) -> AsyncIterator[Difference]:
        origins = {pointer: short_key(parse_key(policy)) for pointer, policy in path["origins"].items()}
        for one in _find_differing(wanted.spec, path["spec"], (), origins, exact=wanted.exact):
            yield one.below("spec")
        for pointer in wanted.absent:
            try:
                value_at(path["spec"], pointer)
            except LookupError:
                continue
            # A leaf of a policy is at the pointer, below it, or above it: a unit is one leaf.
            near = (one for one in origins if f"{one}/".startswith(f"{pointer}/") or pointer.startswith(f"{one}/"))
            yield Difference(f"{pointer}: expected nothing, found it from {origins.get(next(near, ''), 'no policy')}")
        for pointer, policy in wanted.origins.items():
            expected = short_key(await self._key(policy))
            found = origins.get(pointer)
            if found != expected:
                text = f"{pointer}: expected from {expected}, found from {found or 'no policy'}"
                yield Difference(text, ("origins", pointer) if found else (), found)
        outcomes = {one["policy"]: one["outcome"] for one in path["policies"]}
        for policy, outcome in wanted.outcomes.items():
            found = outcomes.get(str(await self._key(policy)))
            if found != outcome:
                text = f"{policy}: expected {outcome}, found {found or 'not here'}"
                yield Difference(text, ("outcomes", policy) if found else (), found)

    async def _key(self, name: str) -> Key:
        """Return the key for a name as users type it, also of an object that the test applies."""
        try:
            return await one_target(self._opa, [name], None)
        except NameNotFoundError:
            whole, _, section = name.partition("#")
            kind, *rest = whole.split("/")
            for key in self._upserts:
                if key.kind.lower() == kind.lower() and rest in ([key.namespace, key.name], [key.name]):
                    return key._replace(section=section)
            raise

    async def _ask(self, query: str, query_input: Mapping[str, Any]) -> Any:
        return await self._opa.query(query, {**query_input, **self._more})


def _compare_conditions(wanted: Names, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Difference]:
    for name, value in wanted.items():
        condition = found.get(name)
        if condition is None:
            yield Difference(f"condition {name}: expected {value}, found none")
        elif value not in {condition["status"], condition["reason"]}:
            there = f"{condition['status']} ({condition['reason']}: {condition['message']})"
            field_of = "status" if value in {"True", "False", "Unknown"} else "reason"
            yield Difference(f"condition {name}: expected {value}, found {there}", (name,), condition[field_of])


def _find_differing(wanted: Any, found: Any, place: Place, origins: Names, *, exact: bool) -> Iterator[Difference]:
    """Yield each value that differs; a mapping may have more fields, unless `exact`."""
    pointer = "".join(f"/{str(name).replace('~', '~0').replace('/', '~1')}" for name in place)
    if isinstance(wanted, dict) and isinstance(found, dict):
        for name in [*wanted, *(name for name in found if exact and name not in wanted)]:
            expected, there = wanted.get(name, _ABSENT), found.get(name, _ABSENT)
            yield from _find_differing(expected, there, (*place, name), origins, exact=exact)
    elif wanted != found:
        source = origins.get(pointer) or next((o for p, o in origins.items() if p.startswith(f"{pointer}/")), "")
        text = f"{pointer or '/'}: expected {_show(wanted)}, found {_show(found)}{f' from {source}' if source else ''}"
        yield Difference(text, () if _ABSENT in (wanted, found) else place, found)


_ABSENT = object()


def _show(value: Any) -> str:
    return "nothing" if value is _ABSENT else json.dumps(value, sort_keys=True)


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _show_key(key: str | None) -> str:
    return short_key(parse_key(key)) if key else "none"


def _name_gateway(path: Entry) -> str:
    """Return the node of a path by which a reader tells it from others: the listener, otherwise the first."""
    nodes = [parse_key(node) for node in path["path"] if node.count("/") == 3]
    return short_key(next((key for key in nodes if key.section), nodes[0]))


def update_suites(results: Iterable[Result]) -> dict[str, int]:
    """Write the updates of failed tests into their files; return the number of values by file.

    A value that is not written in the file itself, because it is an alias, is left out.
    """
    by_file: dict[str, list[Result]] = {}
    for result in results:
        if result.updates:
            by_file.setdefault(result.file, []).append(result)
    written: dict[str, int] = {}
    for file, failed in by_file.items():
        text = Path(file).read_text(encoding="utf-8")
        changes = _find_ranges(text, {one.line - 1: one.updates for one in failed})
        for start, end, value in sorted(changes, reverse=True):
            text = text[:start] + value + text[end:]
        if changes:
            Path(file).write_text(text, encoding="utf-8")
            written[file] = len(changes)
    return written


def _find_ranges(text: str, updates: dict[int, dict[Place, Any]]) -> set[tuple[int, int, str]]:
    """Return the ranges of the text to replace, for updates by the line of their test."""
    found = set()
    for document in yaml.compose_all(text, Loader=yaml.SafeLoader):
        for test in getattr(_child(document, "tests"), "value", ()):
            for place, value in updates.get(test.start_mark.line, {}).items():
                parent = test
                for name in place[:-1]:
                    parent = _child(parent, name)
                node = _child(parent, place[-1])
                if node is None or node.start_mark.index < test.start_mark.index:
                    continue
                if _is_block(node):  # the new value begins beside its key: a list may be indented as little as this
                    key = next(key for key, child in parent.value if child is node)
                    found.add((text.index(":", key.end_mark.index) + 1, _end(node), f" {_write_value(value)}"))
                else:
                    found.add((node.start_mark.index, _end(node), _write_value(value)))
    return found


def _child(node: yaml.Node | None, name: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode):
        items: list[yaml.Node] = node.value
        return items[name] if isinstance(name, int) and name < len(items) else None
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(name)), None)
    return None


def _is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style and bool(node.value)


def _end(node: yaml.Node) -> int:
    """Return where a node ends: a collection in block style ends with its last value, not before the next token."""
    if _is_block(node):
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _write_value(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1 << 20).removesuffix("\n...\n").removesuffix("\n")
