"""Submissions of policy authors, as read from ConfigMaps and RegoPolicies; their paths and claims, and verdicts.

ConfigMaps have Rego and data, with the labels and the layout of kube-mgmt:

    openpolicyagent.org/policy=rego   each key of .data is one module, whatever its name
    openpolicyagent.org/data=opa      each key of .data is one document, at data.<namespace>.<name>.<key>

The label `policybridge.io/rego-version` states whether modules are Rego v0 or v1.

With both labels it is data, as in kube-mgmt. Unlike kube-mgmt, YAML is accepted too, and any JSON value besides
objects. RegoPolicies (`deploy/crds/regopolicies.yaml`) have modules, and tests that run before these are served.

Each submission claims parts of `data` (docs/reference/modules.md):
- the packages `system` and `system.log`, of the API server's requests and of masks in decision logs, are moved to
  `bridge.system`, which belongs to OPA's authors, too; the rest of `system.*` is OPA's;
- `bridge.*` is the bridge's, except for `bridge.extensions.hierarchy.<name>`,
  `bridge.extensions.proxies.<name>`, `bridge.strategies.<name>` and
  `bridge.guardrails.<name>`, each of which belongs to one author;
- the documents that the bridge writes are its own;
- data is allowed where no other author has modules or data;
- ordinary packages may be shared.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.nesting import MAX_DEPTH, as_mapping, decode, parse_field
from bridge.model.text import nearest
from bridge.model.types import Selection
from bridge.opa.client import STATES_OF_MODULES
from bridge.opa.shipped import SETTINGS
from bridge.sources.bounded_reading import TooCostlyError, is_cheap, read_texts
from bridge.sources.yaml import BrokenDocument, Document, read_documents
from bridge.work import attempts_while_refused

DataPath = tuple[str, ...]  # from the root of OPA's data


@dataclass(frozen=True, slots=True)
class Submission:
    """The content of one object (a ConfigMap, a RegoPolicy) for OPA: all of it becomes active together, or none.

    `author` is that object's key, `version` identifies this content (such as its resourceVersion). `modules` and
    `tests` are Rego by name, which replaces a file name in messages; tests run before the modules become active, and
    are not loaded. `data` are documents by their path. `created` is the object's creationTimestamp ("" if it has none):
    of two with the same claim, the older has it. With `problems` it must not be loaded. `old` means that its modules
    are Rego v0. `lost` is what its object's status states about lost rules (`read_loss`), which is not its content;
    `in_force` is the version that the status of a RegoPolicy states as active.
    `packages` are those of its modules, by name; modules without a plain one are omitted.
    """

    author: Key
    version: str
    modules: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[DataPath, Any] = field(default_factory=dict)
    created: str = ""
    problems: tuple[ModuleProblem, ...] = ()
    old: bool = False
    lost: str = field(default="", compare=False)
    in_force: str = field(default="", compare=False)
    packages: Mapping[str, DataPath] = field(init=False, repr=False, compare=False)
    claimed: frozenset[DataPath] = field(init=False, repr=False, compare=False)  # the same packages, without names

    def __post_init__(self) -> None:
        found = {name: package for name, text in self.modules.items() if (package := package_of(text))}
        object.__setattr__(self, "packages", found)
        object.__setattr__(self, "claimed", frozenset(found.values()))

    @property
    def age(self) -> tuple[bool, str, Key]:
        """Return a sort key: the oldest first, those of unknown age last."""
        return (not self.created, self.created, self.author)


@dataclass(frozen=True, slots=True)
class ModuleProblem:
    """Why a submission is not active.

    `file` is the name of one of its modules or tests (empty for the whole object), `line` and `column` count
    from 1 (0: not known), `code` is OPA's (`rego_parse_error`, …) or our own, `message` one line.
    """

    file: str
    line: int
    column: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a submission.

    `version` was submitted last, `active` is OPA's version ("" for none). `problems` are the reasons why `version` is
    not accepted; without them it is, and becomes active when OPA loads it. `revision` is that of the bundle that
    activated OPA's version. `failing` are the objects on which OPA's version fails.
    """

    author: Key
    version: str
    active: str
    problems: tuple[ModuleProblem, ...] = ()
    revision: str = ""
    failing: tuple[ModuleProblem, ...] = ()

    @property
    def accepted(self) -> bool:
        """Return whether the last version is valid."""
        return not self.problems

    @property
    def programmed(self) -> bool:
        """Return whether OPA has the last version."""
        return self.accepted and self.active == self.version


SUFFIX = ".rego"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a set of modules: the author of the module that OPA names (None: none), and the message.

    `own` means that no submission with less precedence can be the cause. `elsewhere` has the same problem for the
    other authors whose modules the message names, at the place in theirs.
    """

    author: Key | None
    problem: ModuleProblem
    own: bool = False
    elsewhere: Mapping[Key, ModuleProblem] = field(default_factory=dict)

    def problem_of(self, author: Key) -> ModuleProblem | None:
        """Return the problem at a place in an author's own module, None if there is no such place."""
        return self.problem if author == self.author else self.elsewhere.get(author)


class Places:
    """The modules of a set by their paths in the bundle, `<key of the author>/<name>` below `folder`."""

    def __init__(self, submissions: Iterable[Submission], folder: str = "") -> None:
        self._folder = folder
        self.modules: dict[str, str] = {}
        self.packages: dict[str, DataPath] = {}  # those that are plain
        self.old: set[str] = set()  # paths of modules in Rego v0
        self._whose: dict[str, tuple[Key, str]] = {}
        self._longest = 0  # characters of a path
        self._beginnings: set[str] = set()  # of paths
        for submission in submissions:
            self._add(submission)

    def _add(self, submission: Submission) -> None:
        author = submission.author
        self._beginnings.add(f"{self._folder}{author.type_id}/")
        for name, text in submission.modules.items():
            path = f"{self._folder}{author}/{quote(name, safe='')}"
            path += "" if path.endswith(SUFFIX) else SUFFIX
            while path in self.modules:
                path = f"{path.removesuffix(SUFFIX)}_{SUFFIX}"
            self.modules[path] = text
            if name in submission.packages:
                self.packages[path] = submission.packages[name]
            if submission.old:
                self.old.add(path)
            self._whose[path] = (author, name)
            self._longest = max(self._longest, len(path))

    def fault(self, path: str, line: int, column: int, code: str, message: str) -> Fault:
        """Return OPA's message about a file in a form for its author."""
        author, name = self._whose.get(path, (None, path))
        text = " ".join(message.split())
        if len(text) > _LONGEST_TEXT:
            text = f"{text[:_LONGEST_TEXT]}…"
        named = {known: self._whose[known] for known in self._find_paths(text)}
        if author is None and named:  # some messages name only the file
            author = next(iter(named.values()))[0]
        others = {whose: (known, module) for known, (whose, module) in named.items() if whose != author}
        elsewhere = {
            whose: ModuleProblem(module, _line_after(known, text), 0, code, _seen_by(whose, text, named))
            for whose, (known, module) in others.items()
        }
        problem = ModuleProblem(name, line, column, code, _seen_by(author, text, named))
        return Fault(author, problem, elsewhere=elsewhere)

    def author_of(self, path: str) -> Key:
        """Return the author of the module at a path."""
        return self._whose[path][0]

    def _find_paths(self, text: str) -> Iterator[str]:
        """Yield the paths of modules in a text, which OPA may fill with all of them."""
        beginnings = "|".join(map(re.escape, self._beginnings))
        for start in re.finditer(beginnings, text) if beginnings else ():
            part = text[start.start() : start.start() + self._longest]
            paths = (part[: end.end()] for end in re.finditer(re.escape(SUFFIX), part))
            yield from (path for path in paths if path in self._whose)


_LONGEST_TEXT = 4000  # characters of OPA's message that are kept; a status has less


def _seen_by(author: Key | None, text: str, named: Mapping[str, tuple[Key, str]]) -> str:
    """Return a message with the modules' names in place of their paths, those of other authors with the authors."""
    for path, (whose, module) in named.items():
        text = text.replace(path, module if whose == author else f"{whose} {module}")
    return text


def _line_after(path: str, text: str) -> int:
    """Return the line that a message names after a path, 0 if none."""
    found = re.search(rf"{re.escape(path)}:(\d+)", text)
    return int(found[1]) if found else 0


@dataclass(frozen=True, slots=True)
class Reading:
    """An object's content. `policy` means that the object has policies, and not only data.

    `unread` are documents by name whose reading may cost much: `finish` reads them, and until then the submission lacks
    its data.
    """

    submission: Submission
    policy: bool
    unread: Mapping[str, str] = field(default_factory=dict)


def created_at(obj: Object) -> str:
    """Return the creationTimestamp, "" if there is none."""
    return str(obj["metadata"].get("creationTimestamp") or "")


STATUS_ANNOTATION = "policybridge.io/status"  # of a ConfigMap, written by the bridge
LOST = "rules_lost"  # the code of the problem that the active version of another author has taken out this one's
LOST_RULES = "its rules are lost, and what evaluates them fails, since"  # begins its message


def read_in_force(obj: Object) -> str:
    """Return the version that a RegoPolicy's status states as active; "" for none."""
    in_force = as_mapping(as_mapping(parse_field(obj.get("status"))).get("inForce"))
    return str(in_force.get("version", ""))


def read_loss(obj: Object) -> str:
    """Return what an object's status states about lost rules, as the beginning of a message; "" for nothing."""
    annotations, status = parse_field(obj["metadata"].get("annotations")), parse_field(obj.get("status"))
    found: Any = status if isinstance(status, dict) else {}
    if isinstance(annotations, dict) and isinstance(text := annotations.get(STATUS_ANNOTATION), str):
        with contextlib.suppress(msgspec.DecodeError, UnicodeEncodeError):
            found = decode(text, most=MAX_DEPTH)
    try:
        return msgspec.convert(found, _Reported).loss
    except msgspec.ValidationError:
        return ""


class _ReportedProblem(msgspec.Struct):
    code: str = ""
    message: str = ""


class _ReportedError(msgspec.Struct):
    errors: list[_ReportedProblem] = []


class _Reported(msgspec.Struct):
    """The bridge's status of a ConfigMap (`error`) or a RegoPolicy (`problems`)."""

    error: _ReportedError | None = None
    problems: list[_ReportedProblem] = []

    @property
    def loss(self) -> str:
        for problem in [*self.problems, *(self.error.errors if self.error else ())]:
            if problem.code == LOST:
                text = problem.message.partition(" (")[0]
                return text if text.startswith(LOST_RULES) else f"{LOST_RULES} a former run of the bridge"
        return ""


def version_of(content: Mapping[str, Any]) -> str:
    """Return a version of this content, which changes only with the content."""
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:12]


def flaw(message: str, *, code: str, file: str = "", line: int = 0) -> ModuleProblem:
    """Return a problem that was found before the check of the Rego."""
    return ModuleProblem(file, line, 0, code, message)


CONFIG_MAP = "core/ConfigMap"
POLICY_LABEL = ("openpolicyagent.org/policy", "rego")
DATA_LABEL = ("openpolicyagent.org/data", "opa")
VERSION_LABEL = "policybridge.io/rego-version"  # of a ConfigMap's modules: one of VERSIONS
VERSIONS = ("v0", "v1")
ALL_NAMESPACES = "*"


def config_maps_in(namespaces: Collection[str]) -> Selection:
    """Return the watched ConfigMaps. Not by label: two labels count, and removing a label is a change like others."""
    return Selection() if ALL_NAMESPACES in namespaces else Selection(namespaces=tuple(dict.fromkeys(namespaces)))


def read_config_map(
    key: Key, obj: Object, namespaces: Collection[str], rego_version: str = VERSIONS[1]
) -> Reading | None:
    """Return a ConfigMap's submission; None if its namespace or its labels exclude it.

    `rego_version` is that of its modules if no label states it.
    """
    labels = obj["metadata"].get("labels") or {}
    is_data = labels.get(DATA_LABEL[0]) == DATA_LABEL[1]
    is_policy = not is_data and labels.get(POLICY_LABEL[0]) == POLICY_LABEL[1]
    if not {ALL_NAMESPACES, key.namespace} & set(namespaces):
        return None
    if not (is_data or is_policy):
        problem = _find_misspelled_label(labels)
        return Reading(Submission(key, version_of(labels), problems=(problem,)), policy=True) if problem else None
    data, binary = (_read_mapping(obj, name) for name in ("data", "binaryData"))
    if data is None or binary is None:
        problem = flaw("its data is not a mapping of names to strings", code="no_text")
        return Reading(Submission(key, "", problems=(problem,)), is_policy)
    rego = str(labels.get(VERSION_LABEL, rego_version))
    written = {"rego": rego} if is_policy and rego != VERSIONS[1] else {}
    version = version_of({"data": data, "binary": binary, "role": "data" if is_data else "policy", **written})
    problems = [flaw("it is under binaryData: put it under data", code="binary_data", file=name) for name in binary]
    problems += [
        flaw("its value is not a string: quote it", code="no_text", file=str(name))
        for name, value in data.items()
        if not isinstance(value, str)  # the API server accepts no other; a folder may have one
    ]
    problems += _check_whole(labels, rego, is_data=is_data, empty=not data and not binary)
    if problems:
        return Reading(Submission(key, version, problems=tuple(problems)), is_policy)
    if is_policy:
        modules = {name: move_system(text) for name, text in data.items()}
        found = Submission(key, version, modules=modules, created=created_at(obj), old=rego == VERSIONS[0])
        return Reading(found, is_policy)
    documents: dict[str, Any] = {}
    yaml: dict[str, str] = {}
    for name, text in data.items():
        try:
            documents[name] = decode(text, most=MAX_DEPTH)
        except (msgspec.DecodeError, UnicodeEncodeError):
            yaml[name] = text  # its reason has no line, and YAML is a superset of JSON
    submission = Submission(key, version, data={(key.namespace, key.name): documents}, created=created_at(obj))
    if not is_cheap(yaml.values()):
        return Reading(submission, is_policy, unread=yaml)
    return _add_documents(submission, {name: list(read_documents(text)) for name, text in yaml.items()})


def _check_whole(labels: Mapping[str, Any], rego: str, *, is_data: bool, empty: bool) -> Iterator[ModuleProblem]:
    if VERSION_LABEL in labels and not is_data and rego not in VERSIONS:
        reason = f'its label {VERSION_LABEL} has the value "{rego}": it must be "v0" or "v1"'
        yield flaw(reason, code="label")
    if empty:
        what = "document" if is_data else "module"
        yield flaw(f"it has no {what}: add it as a key of data", code="empty")


def _find_misspelled_label(labels: Mapping[str, Any]) -> ModuleProblem | None:
    """Return the problem of a label with nearly the right value: the author expects that the ConfigMap is loaded."""
    for name, value in (POLICY_LABEL, DATA_LABEL):
        given = labels.get(name)
        if isinstance(given, str) and difflib.get_close_matches(given.lower(), [value]):
            return flaw(f'its label {name} has the value "{given}": it must be "{value}"', code="label")
    return None


async def finish(reading: Reading) -> Reading:
    """Return the reading of a ConfigMap with its unread documents."""
    try:
        async for attempt in attempts_while_refused("read data"):
            with attempt:
                found = await read_texts(list(reading.unread.values()))
    except TooCostlyError as error:
        problem = flaw(str(error), code="data_parse_error", file=next(iter(reading.unread)))
        return rejected(reading, problem)
    return _add_documents(reading.submission, dict(zip(reading.unread, found, strict=True)))


def rejected(reading: Reading, problem: ModuleProblem) -> Reading:
    """Return the reading of an object whose documents cannot be read."""
    return replace(reading, submission=replace(reading.submission, problems=(problem,)), unread={})


def _add_documents(submission: Submission, yaml: Mapping[str, Sequence[Document | BrokenDocument]]) -> Reading:
    [(path, documents)] = submission.data.items()
    found = {name: _read_document(name, read) for name, read in yaml.items()}
    problems = tuple(one for one in found.values() if isinstance(one, ModuleProblem))
    documents = documents | {name: one[0] for name, one in found.items() if not isinstance(one, ModuleProblem)}
    return Reading(replace(submission, data={path: documents}, problems=problems), policy=False)


def _read_document(name: str, documents: Sequence[Document | BrokenDocument]) -> tuple[Any] | ModuleProblem:
    if not documents:
        return flaw("it is empty: write null for an empty document", code="data_parse_error", file=name, line=1)
    first = documents[0]
    if isinstance(first, BrokenDocument):
        return flaw(first.reason, code="data_parse_error", file=name, line=first.line)
    if len(documents) > 1:
        line = documents[1].line
        return flaw("it has a second document: use one key per document", code="data_parse_error", file=name, line=line)
    if not isinstance(first.value, dict | list):
        # Plain words are YAML too: Rego under the wrong label, or a string without quotes.
        reason = "neither JSON nor a mapping or list in YAML; quote a string"
        return flaw(reason, code="data_parse_error", file=name, line=first.line)
    try:
        msgspec.json.encode(first.value)
    except UnicodeEncodeError:
        return flaw("it has an unpaired surrogate, which is not valid Unicode", code="data_parse_error", file=name)
    return (first.value,)


def _read_mapping(obj: Object, name: str) -> dict[str, Any] | None:
    found = parse_field(obj.get(name)) or {}
    return found if isinstance(found, dict) else None


REGO_POLICY = "policybridge.io/RegoPolicy"
_FIELDS = ("modules", "tests")  # of its spec
_NAME = re.compile(r"[-._a-zA-Z0-9]{1,253}")  # the same as for a ConfigMap's keys


def _hint(name: str) -> str:
    near = nearest(name, _FIELDS)
    return f"; did you mean {near}?" if near else f": the fields are {' and '.join(_FIELDS)}"


def read_rego_policy(key: Key, obj: Object) -> Reading:
    """Return a RegoPolicy's submission. It checks the CRD's schema too, because a folder has no API server."""
    spec = parse_field(obj.get("spec"))
    version = version_of({"spec": spec})
    if not isinstance(spec, dict):
        problem = flaw("spec is missing: write spec.modules, a map of names to Rego", code="invalid_spec")
        return Reading(Submission(key, version, problems=(problem,)), policy=True)
    problems = [
        flaw(f"unknown field spec.{name}{_hint(name)}", code="invalid_spec") for name in spec if name not in _FIELDS
    ]
    modules, tests = spec.get("modules", {}), spec.get("tests", {})
    problems += _check_texts("modules", modules) + _check_texts("tests", tests)
    if not problems:
        if not modules:
            problems = [flaw("spec.modules has no module", code="invalid_spec")]
        problems += [
            flaw("a module and a test have the same name", code="invalid_spec", file=name)
            for name in modules.keys() & tests.keys()
        ]
    if problems:
        return Reading(Submission(key, version, problems=tuple(problems)), policy=True)
    modules = {name: move_system(text) for name, text in modules.items()}
    return Reading(Submission(key, version, modules=modules, tests=tests, created=created_at(obj)), policy=True)


def _check_texts(field: str, value: Any) -> list[ModuleProblem]:
    if not isinstance(value, dict):
        return [flaw(f"spec.{field} is not a map of names to Rego", code="invalid_spec")]
    problems = []
    for name, text in value.items():
        if not _NAME.fullmatch(str(name)):
            reason = f"spec.{field}: the name {name!r} may contain only letters, digits, dash, dot and underscore"
            problems.append(flaw(reason, code="invalid_spec"))
        elif not isinstance(text, str):
            problems.append(flaw("its value is not a string", code="invalid_spec", file=name))
    return problems


# Documents of the bridge itself.
WRITTEN = (
    *(SETTINGS, STATES_OF_MODULES, "bridge_state", "facts", "index", "kind_sets", "kinds", "objects"),
    *("bridge_view", "clusters"),  # in OPAs with views: they reject a bundle that has rules there
)
HIERARCHY = ("bridge", "extensions", "hierarchy")  # modules below declare links
PROXIES = ("bridge", "extensions", "proxies")  # modules below read configurations of proxies
STRATEGIES = ("bridge", "strategies")  # modules below merge effective policies
GUARDRAILS = ("bridge", "guardrails")  # modules below judge what is in effect
MOST_PARTS = 64  # of a package's name
VIEW = ("kubernetes",)  # the package of the view of replicated objects
VIEW_MISSING = "view_missing"  # the code of the problem that a module reads the view, and OPA lacks it
_OWN = "claim_refused"  # the code of these problems

# The form that OPA's parser and this module certainly read alike; other forms of a package clause are rejected.
_CLAUSE = re.compile(
    r"\ufeff?(?:[ \t\r\n]++|\#[^\n]*+\n)*+package[ \t\r\n]+([A-Za-z_][A-Za-z0-9_]*)"
    r"((?:\.[A-Za-z_][A-Za-z0-9_]*|\[\"[^\"\\\n]*\"\])*)[ \t\r]*(?:\#[^\n]*)?(?:\n|\Z)"
)
_PART = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[\"([^\"]*)\"\]")


def package_of(text: str) -> DataPath | None:
    """Return the package of a module, None if it is not plain."""
    found = _CLAUSE.match(text)
    if not found:
        return None
    return (found[1], *(part[1] if part[1] is not None else part[2] for part in _PART.finditer(found[2])))


SYSTEM = ("bridge", "system")  # the package in place of `system`, whose root in a bundle would be OPA's own documents
_MOVED = {("system",): SYSTEM, ("system", "log"): (*SYSTEM, "log")}


def move_system(text: str) -> str:
    """Return a module of the package `system` or `system.log` in the package that OPA's configuration names instead."""
    found, moved = _CLAUSE.match(text), _MOVED.get(package_of(text) or ())
    return f"{text[: found.start(1)]}{_join_path(moved)}{text[found.end(2) :]}" if found and moved else text


def may_decide(packages: Collection[DataPath], unread: Iterable[str], documents: Collection[DataPath]) -> bool:
    """Return whether modules may define one of these documents, or a part of it.

    `packages` are theirs. A module whose package cannot be read (one of `unread`) may, if its text names the document.
    """
    names = [*map(_join_path, documents)]
    return any(overlap(package, document) for package in packages for document in documents) or any(
        name in text for text in unread for name in names
    )


def path_of(package: str) -> DataPath:
    """Return the path of a package in the form of its declaration; empty if that is invalid."""
    return package_of(f"package {package}\n") or ()


def find_flaws(submission: Submission) -> list[ModuleProblem]:
    """Return why no set can have a submission: it is invalid, or has claims that no author may have."""
    found = [*submission.problems]
    for name, text in submission.modules.items():
        package = package_of(text)
        if package is None:
            message = "its package cannot be read: begin with a line `package <name>.<name>`"
        else:
            message = _explain_refusal(package)
        if message:
            found.append(ModuleProblem(name, line_of_package(text), 1, _OWN, message))
    for path in submission.data:
        message = _explain_refusal(path, data=True)
        if message:
            found.append(ModuleProblem("", 0, 0, _OWN, f"data at {_join_path(path)}: {message}"))
    return found


def find_disputes(submissions: Iterable[Submission]) -> Iterator[Fault]:
    """Return the claims of a submission that an earlier one has."""
    numbered = list(enumerate(submissions))
    points: dict[DataPath, Submission] = {}
    data = Parts((path, number) for number, one in numbered for path in one.data)
    claimed = Parts((package, number) for number, one in numbered for package in one.claimed)

    def find_earlier(held: Parts[int], path: DataPath, number: int) -> Key | None:
        return next((numbered[other][1].author for other in held.find_overlapping(path) if other < number), None)

    def dispute(submission: Submission, name: str, message: str) -> Fault:
        line = line_of_package(submission.modules[name])
        return Fault(submission.author, ModuleProblem(name, line, 1, _OWN, message), own=True)

    for number, submission in numbered:
        for name, package in submission.packages.items():
            point = _find_point(package)
            owner = points.setdefault(point, submission) if point else submission
            if owner is not submission:
                message = f"{_join_path(point)} belongs to {owner.author}: choose another name"
                yield dispute(submission, name, message)
            if holder := find_earlier(data, package, number):
                message = f"{holder} has data at, above or below {_join_path(package)}"
                yield dispute(submission, name, message)
        for path in submission.data:
            if holder := find_earlier(data, path, number) or find_earlier(claimed, path, number):
                message = f"{holder} has data or modules at, above or below {_join_path(path)}"
                yield Fault(submission.author, ModuleProblem("", 0, 0, _OWN, message), own=True)


def roots(paths: Iterable[DataPath]) -> set[DataPath]:
    """Return the same parts of `data`, without those that are within others."""
    chosen: set[DataPath] = set()
    for path in sorted(paths, key=len):
        if not any(path[:length] in chosen for length in range(len(path) + 1)):
            chosen.add(path)
    return chosen


def overlap(one: DataPath, other: DataPath) -> bool:
    """Return whether one of two parts of `data` is within the other, or both are the same."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


Owner = TypeVar("Owner")


class Parts(Generic[Owner]):
    """Parts of `data` with their owners. A lookup compares a path with those around it, not with all."""

    def __init__(self, parts: Iterable[tuple[DataPath, Owner]]) -> None:
        self._owners: dict[DataPath, list[Owner]] = {}
        for path, owner in parts:
            self._owners.setdefault(path, []).append(owner)
        self._sorted = sorted(self._owners)
        self._lengths = sorted({len(path) for path in self._sorted})

    def find_above(self, path: DataPath) -> Iterator[Owner]:
        """Yield the owners of the parts in which a path is, the topmost part first; also those of the path itself."""
        for length in self._lengths:
            if length > len(path):
                return
            yield from self._owners.get(path[:length], ())

    def find_below(self, path: DataPath) -> Iterator[Owner]:
        """Yield the owners of the parts in a path, without those of the path itself."""
        for number in range(bisect_right(self._sorted, path), len(self._sorted)):
            part = self._sorted[number]
            if part[: len(path)] != path:
                return
            yield from self._owners[part]

    def find_overlapping(self, path: DataPath) -> Iterator[Owner]:
        """Yield the owners of all parts that overlap with a path."""
        return chain(self.find_above(path), self.find_below(path))

    def contains(self, path: DataPath) -> bool:
        """Return whether a path is one of the parts, or in one."""
        return any(True for _ in self.find_above(path))

    def overlaps(self, path: DataPath) -> bool:
        """Return whether a path is one of the parts, in one, or above one."""
        return any(True for _ in self.find_overlapping(path))


def _explain_refusal(path: DataPath, *, data: bool = False) -> str:
    if not path or not all(path):
        return "a part of it is empty"
    if len(path) > MOST_PARTS:
        return f"it has more than {MOST_PARTS} parts: choose a shorter name"
    if any("/" in part for part in path):
        return "a part of it contains a slash, which OPA's bundles do not support"
    if path[0] == "system":
        return (
            "system is reserved for OPA, except the packages system and system.log themselves: choose another package"
        )
    if path[0] in WRITTEN:
        return f"{path[0]} is a document that the bridge writes: choose another package"
    if path == VIEW:
        return "kubernetes is the view of replicated objects: choose a package below it, such as kubernetes.admission"
    if path[0] == "bridge" and (data or not (_find_point(path) or path in _MOVED.values())):
        return (
            "bridge is reserved for the bridge, except bridge.extensions.hierarchy.<name>, "
            "bridge.extensions.proxies.<name>, bridge.strategies.<name> and bridge.guardrails.<name>"
        )
    return ""


def _find_point(package: DataPath) -> DataPath:
    """Return the name below an extension point of a package; empty if it is below none."""
    for point in (HIERARCHY, PROXIES, STRATEGIES, GUARDRAILS):
        if package[: len(point)] == point and len(package) > len(point):
            return package[: len(point) + 1]
    return ()


def _join_path(path: DataPath) -> str:
    return ".".join(path)


def line_of_rule(text: str, name: str) -> int:
    """Return the line of the first rule of a name; 1 if its name is written in another way."""
    found = re.search(rf"^[ \t]*(?:default[ \t]+)?{re.escape(name.partition('.')[0])}\b", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def line_of_package(text: str) -> int:
    """Return the line of a module's package declaration; 1 if it has none."""
    found = re.search(r"^[ \t]*package\b", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1
