"""`opa check` and `opa test` for modules that are not served yet.

docs/auditors/threat-model.md lists all of OPA's functions. A running OPA fetches the `$ref`s of JSON schemas from
any host (`allow_net` is a setting of `opa check` alone) and from files, so modules with such references are rejected
(rego/checks/outside_access.rego).
"""

import asyncio
import contextlib
import itertools
import re
import resource
import secrets
import tempfile
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

import msgspec

from bridge import processes
from bridge.files import rules_of_checks
from bridge.model.nesting import MAX_DEPTH, decode
from bridge.opa.bundle import MANIFEST, rego_versions
from bridge.policy_loader.bounds import DEFAULT_MEMORY, LEAST_MEMORY, MEBIBYTE
from bridge.policy_loader.submissions import SUFFIX, VERSION_LABEL

# Functions that send requests, or read the machine.
UNSAFE = frozenset({"http.send", "net.lookup_ip_addr", "opa.runtime"})
# OPA calls a function nondeterministic if something besides its arguments counts: for these a clock or random numbers,
# for those about schemas what the check below excludes. An unknown one may reach out.
_HARMLESS = {
    "io.jwt.decode_verify",
    "io.jwt.encode_sign",
    "io.jwt.encode_sign_raw",
    "json.match_schema",
    "json.verify_schema",
    "rand.intn",
    "time.now_ns",
    "uuid.rfc4122",
}
IN_CALL = "OPA would fetch the references of a schema: write the schema as an object in the call, without $ref"
IN_ANNOTATION = "OPA would fetch the references of a schema: write the schema without $ref"
ANNOTATION = "METADATA"  # begins every annotation; YAML has many ways to write the rest
_USES = re.compile(r"(match|verify)_schema|\\u")


def may_use_schemas(text: str) -> bool:
    """Return whether a module may call functions with schemas; their names may have escapes."""
    return bool(_USES.search(text))


def line_of_use(text: str) -> int:
    """Return the first line that may call such a function."""
    found = _USES.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def has_reference(value: Any) -> bool:
    """Return whether a value contains a reference to a JSON schema."""
    if isinstance(value, dict):
        return "$ref" in value or any(map(has_reference, value.values()))
    return isinstance(value, list) and any(map(has_reference, value))


_MOST_ERRORS = "1000"
# none of the bridge's variables, which opa.runtime() would show; garbage waits for GOMEMLIMIT
_ENVIRONMENT = {"GOGC": "off"}
_TEST_FAILED = 2
_OPA_ALONE = 96 * MEBIBYTE  # what `opa` needs for a module of a line, and a little more
# Of what the bound leaves beside the bridge's modules:
_AUTHORS_SHARE = 0.25  # for one author, and at least:
_LEAST_SHARE = 16 * MEBIBYTE
_RESERVED_SHARE = 0.1  # for further versions of authors who have active ones
_DENSEST = 1024  # bytes that OPA needs for a byte of Rego: 936 of nested arrays, 360 of short rules
_MOST_OUTPUT = 16 * MEBIBYTE  # bytes of one process: nested errors and annotations may be much longer than modules
_SOFT_SHARE = 0.8  # of the bound: from here on Go collects garbage as often as possible
# Go's output when it gets no memory; its SIGSEGV is that of a nil pointer from a failed allocation.
_OUT_OF_MEMORY = re.compile(rb"^(fatal error|SIGSEGV): ", re.MULTILINE)
PARSE_ERROR = "rego_parse_error"
# Messages of OPA 1.0 and newer about Rego for OPA 0.x.
_OLD_REGO = re.compile("`(if|contains)` keyword is required")
_REWRITE = (
    "if this is Rego v0 (for OPA before 1.0), convert it with `opa fmt --write --v0-v1 FILE`, or set the label "
    f"{VERSION_LABEL}: v0 on the ConfigMap"
)
_PARTIAL = "with keyword cannot partially replace virtual document"
_WHOLE = "data.kubernetes has rules: replace a whole type, `with data.kubernetes.namespaces as {…}`"
_REMOVED = "deprecated built-in function calls in expression: "
# What Rego v1 has in place of functions that it removed, and that `opa fmt --v0-v1` does not convert.
_REPLACEMENTS = {
    "all": "write `every x in xs { x }`",
    "any": "write `true in xs`",
    "cast_array": "write `[x | some x in xs]`",
    "cast_boolean": "check with is_boolean",
    "cast_null": "check with is_null",
    "cast_object": "check with is_object",
    "cast_set": "write `{x | some x in xs}`",
    "cast_string": "check with is_string",
    "net.cidr_overlap": "write net.cidr_contains",
    "re_match": "write regex.match, with the same arguments",
    "set_diff": "write `a - b`",
}
OUTSIDE_ACCESS = "schema_reference"
# Codes that prove nothing about the modules: a loaded machine, a killed `opa`.
_LATE, _FAILED, MEMORY = "timeout", "opa_failed", "memory"
_TOO_LONG = "test_failed"  # of tests that used their processor time, and did not only wait for it
PASSING = frozenset({_LATE, _FAILED})
REPEATED = PASSING | {MEMORY}  # of checks whose result is not kept: the machine may have had too little memory


class Finding(NamedTuple):
    """OPA's message about a file: `path` as submitted, empty if it is about none."""

    path: str
    line: int
    column: int
    code: str
    message: str


_SCALARS = frozenset({"string", "number", "boolean", "null"})  # types of terms with one value


class RuleHead(NamedTuple):
    """The head of a rule in the module `path`.

    `ref` are the terms of its name, each with type and value; `kind` is set, function or value. Another rule of that
    name can contradict an `exclusive` one, unless both have the same `constant`, "" if the value may vary.
    """

    path: str
    ref: tuple[tuple[str, Any], ...]
    kind: str
    arity: int
    exclusive: bool
    constant: str

    @property
    def terms(self) -> tuple[tuple[str, Any] | None, ...]:
        """Return the terms of its name; None for a part that may have several values."""
        return tuple(term if number == 0 or term[0] in _SCALARS else None for number, term in enumerate(self.ref))

    def contradicts(self, other: Self) -> bool:
        """Return whether both may define one document, with different values."""
        if any(one != two and one and two for one, two in zip(self.terms, other.terms, strict=False)):
            return False
        if len(self.ref) != len(other.ref):
            return True
        return (self.exclusive or other.exclusive) and not (self.constant and self.constant == other.constant)

    def within(self, package: Iterable[str]) -> Self:
        """Return the head with its path below `data` as its ref, to compare it with those of other packages."""
        (_, name), *rest = self.ref
        return self._replace(ref=(*(("string", part) for part in package), ("string", name), *rest))

    @property
    def name(self) -> str:
        """Return the name up to its first variable part, in dotted form."""
        constant = itertools.takewhile(lambda term: term[0] == "string", self.ref[1:])
        return ".".join([str(self.ref[0][1]), *(str(value) for _, value in constant)])


Owner = TypeVar("Owner")
_TELLING = 3  # different rules of one name: two values, and one that is only true


class _Node(Generic[Owner]):
    """The rules of one name, a few that differ, and the nodes of longer names by their next term."""

    __slots__ = ("below", "here")

    def __init__(self) -> None:
        self.below: dict[Any, _Node[Owner]] = {}
        self.here: list[tuple[Owner, RuleHead]] = []

    @property
    def any_owner(self) -> Owner:
        """Return the owner of a rule of this name, or of a longer one."""
        node = self
        while not node.here:
            node = next(iter(node.below.values()))
        return node.here[0][0]


class _Level(Generic[Owner]):
    """The nodes that the first terms of a name lead to: several, because a variable may be any term.

    `here` are rules of such names, a few that differ. `below` is the owner of a rule of a longer name.
    """

    __slots__ = ("_by_term", "_nodes", "_steps", "below", "here")

    def __init__(self, nodes: list[_Node[Owner]]) -> None:
        self._nodes = nodes
        self._by_term: dict[Any, list[_Node[Owner]]] | None = None
        self._steps: dict[Any, _Level[Owner]] = {}
        self.here: list[tuple[Owner, RuleHead]] = []
        for node in nodes:
            _keep_differing(self.here, node.here)
        self.below = next((below.any_owner for node in nodes for below in node.below.values()), None)

    def step(self, term: Any) -> "_Level[Owner]":
        """Return the level that one more term leads to."""
        if term not in self._steps:
            self._steps[term] = _Level(self._find_nodes(term))
        return self._steps[term]

    def _find_nodes(self, term: Any) -> list[_Node[Owner]]:
        if term is None:
            return [below for node in self._nodes for below in node.below.values()]
        if self._by_term is None:
            self._by_term = {}
            for node in self._nodes:
                for name, below in node.below.items():
                    self._by_term.setdefault(name, []).append(below)
        return [below for name in (term, None) for below in self._by_term.get(name, ())]


class RuleHeads(Generic[Owner]):
    """Rules of owners by the terms of their names: a rule is compared with those of similar names, not with all."""

    def __init__(self) -> None:
        self._root: _Node[Owner] = _Node()
        self._start: _Level[Owner] | None = None  # what was found so far, until a rule is added

    def add(self, owner: Owner, head: RuleHead) -> None:
        """Add a rule. Each rule contradicts one of two that differ, so few of one name are kept."""
        self._start, node = None, self._root
        for term in head.terms:
            node = node.below.setdefault(term, _Node())
        _keep_differing(node.here, [(owner, head)])

    def find_contradicted(self, head: RuleHead) -> Owner | None:
        """Return the owner of a rule that may have another value than this one."""
        level = self._start = self._start or _Level([self._root])
        for term in head.terms:
            if level.here:
                return level.here[0][0]  # the whole document, of which this rule defines a part
            level = level.step(term)
        return next((owner for owner, its in level.here if head.contradicts(its)), level.below)


def _keep_differing(kept: list[tuple[Owner, RuleHead]], rules: Iterable[tuple[Owner, RuleHead]]) -> None:
    """Add rules of one name to those that are kept, until these tell what can contradict the name."""
    for owner, head in rules:
        kinds = {(its.exclusive, its.constant) for _, its in kept}
        if len(kept) < _TELLING and (head.exclusive, head.constant) not in kinds:
            kept.append((owner, head))


class Checker:
    """Runs an `opa` executable in an empty environment, each time for at most `patience` seconds of processor time.

    It has at most `memory` bytes.

    The memory bound counts the process's writable memory. Linux enforces it; elsewhere Go only tries to keep it.
    `shipped` are the bridge's own modules, by path. Built-in functions that reach out of OPA are unknown to modules,
    unless they are in `allowed`; nothing is fetched.
    """

    def __init__(
        self,
        executable: Path,
        shipped: Mapping[str, str],
        *,
        allowed: Iterable[str] = (),
        patience: float = 20.0,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        self.runs = 0
        self._executable = executable
        self._shipped = shipped
        self._allowed = frozenset(allowed)
        self._refused: frozenset[str] = frozenset()
        self._patience = patience
        self._memory = memory
        left = max(memory - (LEAST_MEMORY if shipped else 0), 0)
        self._share = max(int(left * _AUTHORS_SHARE), _LEAST_SHARE)
        self._newcomers = memory - int(left * _RESERVED_SHARE)
        self._capabilities: bytes | None = None

    async def find_rules(self, modules: Mapping[str, str], old: Collection[str] = ()) -> list[RuleHead | Finding]:
        """Return the rules of modules, without those that cannot be parsed; of `old` (paths) as Rego v0.

        If that cannot be found, it returns the reason.
        """
        async with _write_folder(modules, old) as (folder, names):
            found = await self._evaluate(folder, names, modules, old, "data.checks.rules.heads")
            return [
                one
                if isinstance(one, Finding)
                else RuleHead(
                    names[one["path"]],
                    tuple((term["type"], term["value"]) for term in one["ref"]),
                    one["kind"],
                    one["arity"],
                    one["exclusive"],
                    one["constant"],
                )
                for one in found
            ]

    async def _evaluate(
        self, folder: Path, names: Mapping[str, str], modules: Mapping[str, str], old: Collection[str], query: str
    ) -> list[Any]:
        """Return the result of a query of rego/checks about modules in a folder, or the reason why there is none."""
        given: dict[str, Any] = {}
        for file, path in names.items():
            given[file] = modules[path]
            if path in old:
                _, output, _ = await self._run(folder, "parse", file, "--v0-compatible", "--format", "json")
                given[file] = _decode_output(output)
        (folder / "input.json").write_bytes(msgspec.json.encode(given))
        rules = [part for file in rules_of_checks() for part in ("--data", str(file))]
        status, output, errors = await self._run(
            folder, "eval", query, "--input", "input.json", *rules, "--format", "json"
        )
        if status:
            return _read_findings(output, errors, names)
        result: list[Any] = _decode_output(output)["result"][0]["expressions"][0]["value"]
        return result

    async def find_outside_access(self, modules: Mapping[str, str], old: Collection[str] = ()) -> list[Finding]:
        """Return where modules or tests make OPA fetch something; `check` and `test` would fetch it."""
        suspects = {path: text for path, text in modules.items() if ANNOTATION in text or may_use_schemas(text)}
        if not suspects:
            return []
        async with _write_folder(suspects, old) as (folder, names):
            status, output, errors = await self._run(folder, "inspect", ".", "--annotations", "--format", "json")
            inspected = _decode_output(output)
            if status or not isinstance(inspected, dict):
                return await self._find_parse_errors(suspects, old) or _read_findings(output, errors, names)
            found = [
                _read_finding({"location": one["location"], "code": OUTSIDE_ACCESS, "message": IN_ANNOTATION}, names)
                for one in inspected.get("annotations") or ()
                if any(has_reference(schema) for schema in one["annotations"].get("schemas") or ())
            ]
            calling = {file: path for file, path in names.items() if may_use_schemas(suspects[path])}
            if calling:
                fetching = await self._evaluate(folder, calling, suspects, old, "data.checks.outside_access.fetching")
                for file in fetching:
                    if isinstance(file, Finding):
                        return fetching
                    text = suspects[names[file]]
                    found.append(Finding(names[file], line_of_use(text), 1, OUTSIDE_ACCESS, IN_CALL))
            return found

    async def _find_parse_errors(self, modules: Mapping[str, str], old: Collection[str]) -> list[Finding]:
        """Return the parse errors of modules, without reading their annotations."""
        found = await self._check({path: text.replace(ANNOTATION, "") for path, text in modules.items()}, old)
        return [finding for finding in found if finding.code in {PARSE_ERROR, *PASSING}]

    async def find_excess(self, modules: Mapping[str, str], old: Collection[str] = ()) -> list[Finding]:
        """Return whether one author's modules need more memory than the share of an author, without any others.

        What is missing then, such as functions of others, is not a finding. Short modules cannot need that much.
        """
        if sum(len(text.encode()) for text in modules.values()) * _DENSEST <= self._share:
            return []
        found = await self._check(modules, old, _OPA_ALONE + self._share)
        text = (
            f"the modules need more than {self._share // MEBIBYTE} MiB of memory to compile, the share of one author: "
            "shorten them, or raise the bridge's setting check_memory_mib"
        )
        return [one._replace(message=text) if one.code == MEMORY else one for one in found if one.code in REPEATED]

    async def check(
        self,
        modules: Mapping[str, str],
        generated: Mapping[str, str],
        old: Collection[str] = (),
        *,
        newcomers: bool = False,
    ) -> list[Finding]:
        """Return why these modules do not compile with each other, with the shipped and with generated ones.

        Those of `old` (paths) are Rego v0. With `newcomers`, authors without active modules join those that have some:
        a part of the memory is not for them.
        """
        memory = self._newcomers if newcomers else self._memory
        return await self._check(self._complete(modules, generated), old, memory)

    def _complete(self, modules: Mapping[str, str], generated: Mapping[str, str]) -> dict[str, str]:
        """Return modules with what they need of the shipped and generated ones.

        Those that do not mention the bridge compile without its modules, which are most of the work, and without the
        shipped guardrails, which need these.
        """
        ours = any("bridge" in text for text in modules.values())
        others = {path: text for path, text in generated.items() if ours or "data.bridge." not in text}
        return {**(self._shipped if ours else {}), **others, **modules}

    async def test(
        self,
        modules: Mapping[str, str],
        generated: Mapping[str, str],
        tests: Mapping[str, str],
        data: Any,
        old: Collection[str] = (),
    ) -> list[Finding]:
        """Return why these tests do not pass, with those modules, the shipped and generated ones, and data."""
        texts = self._complete({**modules, **tests}, generated)
        found = await self._check(texts, old)
        if found:
            return found
        async with _write_folder(texts, old) as (folder, names):
            (folder / "data.json").write_bytes(msgspec.json.encode(data))
            arguments = (
                "test",
                *_as_bundle(old),
                ".",
                "--format",
                "json",
                "--timeout",
                f"{processes.BUSY * self._patience:g}s",
            )
            status, output, errors = await self._run(folder, *arguments)
            if status == 0:
                return []
            results = _decode_output(output)
            if status != _TEST_FAILED or not isinstance(results, list):  # a crash of Go has the same status
                return _read_findings(output, errors, names)
            results = [result for result in results if result.get("fail") or result.get("error")]
            of_tests = [_read_failure(result, names) for result in results]
            # Tests among modules are run separately: their results are ignored here.
            return [finding for finding in of_tests if finding.path in tests]

    async def _check(self, texts: Mapping[str, str], old: Collection[str], memory: int | None = None) -> list[Finding]:
        async with _write_folder(texts, old) as (folder, names):
            (folder / "capabilities.json").write_bytes(await self._limit_capabilities(folder))
            limits = ("--capabilities", "capabilities.json", "--max-errors", _MOST_ERRORS)
            status, output, errors = await self._run(
                folder, "check", *_as_bundle(old), ".", "--format", "json", *limits, memory=memory
            )
            return [] if status == 0 else [self._explain(finding) for finding in _read_findings(output, errors, names)]

    def _explain(self, finding: Finding) -> Finding:
        """Return the message with a hint: old Rego can be rewritten, and removed functions are known from OPA."""
        if finding.code == PARSE_ERROR and _OLD_REGO.search(finding.message):
            return finding._replace(message=f"{finding.message}: {_REWRITE}")
        if finding.message.startswith(_PARTIAL):
            return finding._replace(message=f"{finding.message}: {_WHOLE}")
        if finding.message.startswith(_REMOVED):
            names = finding.message.removeprefix(_REMOVED).split(", ")
            hints = "; ".join(f"{name}: {_REPLACEMENTS[name]}" for name in names if name in _REPLACEMENTS)
            more = f"; or set the label {VERSION_LABEL}: v0 on the ConfigMap"
            return finding._replace(message=f"{finding.message}: Rego v1 has no such function: {hints}{more}")
        name = finding.message.removeprefix("undefined function ")
        if name == finding.message or name not in self._refused:
            return finding
        return finding._replace(message=f"{finding.message}: not allowed: see the bridge's setting allowed_builtins")

    async def _limit_capabilities(self, folder: Path) -> bytes:
        """Return the capabilities of the executable without the removed functions, and without the network."""
        if self._capabilities is None:
            _, output, errors = await self._run(folder, "capabilities", "--current")
            found = _decode_output(output)
            if not isinstance(found, dict):
                raise CheckError(f"{self._executable} printed no capabilities: {errors.decode(errors='replace')}")
            outside = {one["name"] for one in found["builtins"] if one.get("nondeterministic")}
            self._refused = (UNSAFE | (outside - _HARMLESS)) - self._allowed
            kept = [builtin for builtin in found["builtins"] if builtin["name"] not in self._refused]
            self._capabilities = msgspec.json.encode({**found, "builtins": kept, "allow_net": []})
        return self._capabilities

    async def _run(self, folder: Path, *arguments: str, memory: int | None = None) -> tuple[int, bytes, bytes]:
        memory = memory or self._memory
        seconds = self._patience / 2 if arguments[0] == "test" else self._patience
        self.runs += 1
        try:
            process = await asyncio.create_subprocess_exec(
                str(self._executable),
                *arguments,
                cwd=folder,
                env={**_ENVIRONMENT, "GOMEMLIMIT": str(int(memory * _SOFT_SHARE))},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise CheckError(f"{self._executable} cannot be started: {error.strerror}") from error
        _bound_memory(process.pid, memory)
        try:
            async with processes.limit_work(seconds) as work, processes.follow(process):
                output, errors = await asyncio.gather(_read(process.stdout), _read(process.stderr))
                await process.wait()
        except TimeoutError:
            code = _TOO_LONG if arguments[0] == "test" and work.is_spent else _LATE
            late = {"code": code, "message": f"opa {arguments[0]} took more than {seconds:g} s of processor time"}
            return 1, b"", msgspec.json.encode({"errors": [late]})
        except _OutputTooLongError:
            return 1, b"", _report_too_large(arguments[0], memory)
        finally:
            await processes.end(process)
        status = process.returncode or 0
        if status and _OUT_OF_MEMORY.search(errors):
            return 1, b"", _report_too_large(arguments[0], memory)
        return status, output, errors


class _OutputTooLongError(Exception):
    """A process printed more than _MOST_OUTPUT."""


def _report_too_large(command: str, memory: int) -> bytes:
    what = "evaluating these tests" if command == "test" else "compiling the modules"
    bound = f"{memory // MEBIBYTE} MiB of memory"
    text = f"{what} takes more than {bound}: use smaller values, or raise the bridge's setting check_memory_mib"
    return msgspec.json.encode({"errors": [{"code": MEMORY, "message": text}]})


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    found = bytearray()
    while stream and (part := await stream.read(_MOST_OUTPUT)):
        found += part
        if len(found) > _MOST_OUTPUT:
            raise _OutputTooLongError
    return bytes(found)


def _bound_memory(pid: int, most: int) -> None:
    """Bound the data segment and not the address space: Go reserves 1.2 GiB of that at its start."""
    if hasattr(resource, "prlimit"):
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))


_RANDOM_BYTES = 8
_CHECKED_FILE = re.compile(rf"\b[0-9a-f]{{{2 * _RANDOM_BYTES}}}-\d{{5,}}{re.escape(SUFFIX)}")  # as in `_write_folder`


class CheckError(Exception):
    """Modules cannot be checked now: the `opa` executable cannot be used, or the machine lacks space or memory."""


def _as_bundle(old: Collection[str]) -> tuple[str, ...]:
    """Return the option with which `opa` reads a folder's manifest, which states what is Rego v0."""
    return ("--bundle",) if old else ()


@contextlib.asynccontextmanager
async def _write_folder(
    texts: Mapping[str, str], old: Collection[str] = ()
) -> AsyncIterator[tuple[Path, dict[str, str]]]:
    """Yield a folder with all modules to check, and the original paths of its files; those of `old` are Rego v0.

    Raises CheckError for an error of the machine, such as a full disk, also in the block.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="policy-bridge-check-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            # Numbers, because an author's name may be longer than a file system allows; after random digits, because a
            # number in an author's text must not get another author's name in messages.
            prefix = secrets.token_hex(_RANDOM_BYTES)
            files = {f"{prefix}-{number:05}{SUFFIX}": path for number, path in enumerate(texts)}
            await asyncio.to_thread(_write_texts, folder, files, texts)
            if old:
                (folder / MANIFEST).write_bytes(
                    msgspec.json.encode(rego_versions([file for file, path in files.items() if path in old]))
                )
            yield folder, files
    except OSError as error:
        why = error.strerror or str(error)
        raise CheckError(f"modules cannot be written to a temporary folder to check them: {why}") from error


def _write_texts(folder: Path, files: Mapping[str, str], texts: Mapping[str, str]) -> None:
    for file, path in files.items():
        (folder / file).write_text(texts[path], encoding="utf-8", newline="")


def _read_findings(output: bytes, errors: bytes, names: Mapping[str, str]) -> list[Finding]:
    document = _decode_output(errors) or _decode_output(output)
    if isinstance(document, dict) and document.get("errors"):
        return [_read_finding(error, names) for error in document["errors"]]
    text = _name_files((errors or output).decode(errors="replace").strip(), names)
    return [Finding("", 0, 0, _FAILED, text or "opa failed without output")]


def _read_finding(error: dict[str, Any], names: Mapping[str, str]) -> Finding:
    where = error.get("location") or {}
    text = _name_files(str(error.get("message", "")), names)
    path = names.get(str(where.get("file", "")).removeprefix("./"), "")
    return Finding(path, int(where.get("row", 0)), int(where.get("col", 0)), str(error.get("code", "")), text)


def _name_files(text: str, names: Mapping[str, str]) -> str:
    """Return a text of OPA with the authors' names of its files."""
    return _CHECKED_FILE.sub(lambda found: names.get(found[0], found[0]), text)


def _read_failure(result: dict[str, Any], names: Mapping[str, str]) -> Finding:
    name = f"{str(result.get('package', '')).removeprefix('data.')}.{result.get('name')}"
    error = result.get("error")
    if not isinstance(error, dict):
        return _read_finding({**result, "code": "test_failed", "message": f"the test {name} failed"}, names)
    return _read_finding(
        {**result, "code": "test_failed", "message": f"the test {name} failed: {error['message']}"}, names
    )


def _decode_output(text: bytes) -> Any:
    try:
        return decode(text, most=MAX_DEPTH)
    except msgspec.DecodeError:
        return None
