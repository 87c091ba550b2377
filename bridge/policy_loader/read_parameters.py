"""What the Rego of a guardrail says about its parameters: the names that it reads, and the schema that it declares.

Both are read from the text: a rule that must be evaluated may fail, and would stop the answers about all Constraints.
"""

import functools
import itertools
import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn

Package = tuple[str, ...]

_LITERAL = re.compile(r'#[^\n]*|"(?:[^"\\\n]|\\.)*"?|`[^`]*`?')  # an end that lacks is not searched again
_PATH = r'((?:\.\w+|\["\d+"\])*)'
_SEGMENT = re.compile(r'\.(\w+)|\["(\d+)"\]')
_DATA = re.compile(rf"(?<![\w.])data\b{_PATH}")
_HEAD = re.compile(r"(?<![\w.])violations_at\b(\(\s*\w+\s*,\s*(\w+)\s*,\s*\w+\s*\))?")
_MOST_ARGUMENTS = 5  # names of a function's parameters; the text is searched for each
_GET = re.compile(r"\bobject\.get\(\s*$")
_GOT = re.compile(r'\s*,\s*(?:"(\d+)"|\[\s*"(\d+)"[^\[\]]*\])\s*,')
_OF_AUTHORS = {"guardrails", "strategies", "extensions"}  # packages below `bridge` that may read a guardrail's input
_LOST = "policy_bridge_lost"  # rules in place of a module whose text is unknown
_SCHEMA = re.compile(r"[(\[{]|[)\]}]|^[ \t]*(?:default[ \t]+)?parameters_schema\b(?![ \t]*\()", re.MULTILINE)
_CONSTANT = re.compile(r"[ \t]*(?:default[ \t]+)?parameters_schema[ \t]*:?=[ \t]*(?=\{)")
_CONTINUES = re.compile(r"(?:\b(?:if|in|not|some|every)|[-=,|&+*/%<>(\[{:])\s*$")
_END = re.compile(r"[ \t\r]*(?:\n\s*(?=[A-Za-z_])(?!(?:else|if|with|in|as)\b)|\s*$)")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_STRING = re.compile(r'"(\d+)"')


class Code(NamedTuple):
    """Rego without comments, in which each string is its number among `strings`; None is one with escapes."""

    text: str
    strings: list[str | None]
    literals: list[str]


class Read(NamedTuple):
    """`names` are the parameters that a module reads; None if it may read others. `schemas` are those that it declares.

    A schema that is not written out as an object is None.
    """

    names: frozenset[str] | None
    schemas: tuple[str | None, ...]


def read_parameters(package: Package, modules: Iterable[tuple[Package, str]]) -> Read:
    """Return what the modules at or below a guardrail's package say. Of several schemas none counts."""
    names: frozenset[str] | None = frozenset()
    schemas: list[str | None] = []
    for its_package, text in modules:
        found = _read(package, text)
        names = None if names is None or found.names is None else names | found.names
        if its_package == package:
            schemas += found.schemas
    return Read(names, tuple(schemas) if len(schemas) < 2 else (None,))


@functools.lru_cache(maxsize=512)
def _read(package: Package, text: str) -> Read:
    code = _code(text)
    return Read(_find_names(package, code), tuple(itertools.islice(_find_schemas(code), 2)))


def _code(text: str) -> Code:
    strings: list[str | None] = []
    literals: list[str] = []

    def number(found: re.Match[str]) -> str:
        literal = found[0]
        if literal[0] == "#":
            return " "
        strings.append(None if literal[0] == '"' and "\\" in literal else literal[1:-1])
        literals.append(literal)
        return f'"{len(strings) - 1}"'

    return Code(_LITERAL.sub(number, text), strings, literals)


def _find_names(package: Package, code: Code) -> frozenset[str] | None:
    if "$" in code.text or _LOST in code.text:  # `$` begins a string with expressions
        return None
    if not all(_is_own(_segments(found[1], code), package) for found in _DATA.finditer(code.text)):
        return None
    heads = [*_HEAD.finditer(code.text)]
    arguments = {found[2] for found in heads} - {"_"}
    if not all(found[1] for found in heads) or len(arguments) > _MOST_ARGUMENTS:
        return None
    declared = {found.start(2) for found in heads}
    names: set[str] = set()
    for whole, above in [("input", ("parameters",)), *((argument, ()) for argument in arguments)]:
        for found in re.finditer(rf"(?<![\w.]){whole}\b{_PATH}", code.text):
            if found.start() in declared:
                continue
            path = _segments(found[1], code)
            if above and path[:1] and path[0] not in (None, *above):
                continue
            name = _name_after(found, path, above, code)
            if name is None:
                return None
            names.add(name)
    return frozenset(names)


def _is_own(path: list[str | None], package: Package) -> bool:
    if path[:1] != ["bridge"] or len(path) == 1 or None in path[:2]:
        return False
    return path[1] not in _OF_AUTHORS or path[1 : len(package)] == list(package[1:])


def _name_after(found: re.Match[str], path: list[str | None], above: tuple[str, ...], code: Code) -> str | None:
    """Return the name that a reference to the parameters reads; None if it may read any."""
    if tuple(path[: len(above)]) != above:
        return None
    if len(path) > len(above):
        return path[len(above)]
    got = _GOT.match(code.text, found.end())
    if got and _GET.search(code.text, max(found.start() - 100, 0), found.start()):
        return code.strings[int(got[1] or got[2])]
    return None


def _segments(path: str, code: Code) -> list[str | None]:
    return [found[1] or code.strings[int(found[2])] for found in _SEGMENT.finditer(path)]


def _find_schemas(code: Code) -> Iterable[str | None]:
    depth = 0
    for found in _SCHEMA.finditer(code.text):
        if len(found[0]) == 1:
            depth += 1 if found[0] in "([{" else -1
        elif not depth and not _CONTINUES.search(code.text, max(found.start() - 100, 0), found.start()):
            yield _read_constant(code, found.start())


def _read_constant(code: Code, start: int) -> str | None:
    """Return the object that a rule is, as JSON; None if it is no constant."""
    head = _CONSTANT.match(code.text, start)
    if not head:
        return None
    end = _end_of_braces(code.text, head.end())
    if not end or not _END.match(code.text, end):
        return None
    try:
        written = _TRAILING_COMMA.sub(r"\1", code.text[head.end() : end])
        as_json = _STRING.sub(lambda found: _as_json(code.literals[int(found[1])]), written)
        value: Any = json.loads(as_json, parse_constant=_refuse)
        return json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return None


def _end_of_braces(text: str, start: int) -> int:
    depth = 0
    for found in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.end()
    return 0


def _as_json(literal: str) -> str:
    value: str = literal[1:-1] if literal[0] == "`" else json.loads(literal)
    value.encode()  # half of a surrogate pair is no text
    return json.dumps(value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
