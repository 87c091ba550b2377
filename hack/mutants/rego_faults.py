"""Faults in Rego: another operator, another constant, a condition without its `not`, a missing condition.

Rego has no parser here, so candidates are found by their text, in lines of rules alone. `opa check` sorts out those
that do not compile.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from hack.mutants.trial import Mutant

_STRING = r'"(?:[^"\\]|\\.)*"|`[^`]*`'
_OTHERS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "|": "&", "&": "|"}
_BUILTINS = {
    "max": "min",
    "min": "max",
    "startswith": "endswith",
    "endswith": "startswith",
    "object.union": "object.remove",
    "trim_prefix": "trim_suffix",
    "trim_suffix": "trim_prefix",
}
_TOKEN = re.compile(
    rf"(?P<string>{_STRING})"
    r"|(?P<comment>#.*)"
    r"|(?P<operator>(?<= )(?:==|!=|<=|>=|[<>+&-])(?= ))"
    r"|(?P<number>(?<![\w.\"])\d+(?![\w.]))"
    r"|(?P<boolean>\b(?:true|false)\b)"
    rf"|(?P<builtin>(?<![\w.])(?:{'|'.join(map(re.escape, _BUILTINS))})(?=\())"
)
_NEGATION = re.compile(r"^\t+(not )")
_CONDITION = re.compile(r"^\t+(?!not \w+ in\b)[a-z_].*[^{(\[,|]$|^\t+not .*[^{(\[,|]$")
_SKIPPED = re.compile(r"^(package|import|#|default )|sprintf|message|^\s*#")


def rego_mutants(path: Path, source: str) -> Iterator[Mutant]:
    """Yield every candidate of a file, from the top."""
    start = 0
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        text = line.rstrip("\n")
        if not _SKIPPED.search(text):
            for begin, end, new in _changes(text):
                yield Mutant(path, start + begin, start + end, new, number)
        start += len(line)


def _changes(line: str) -> Iterator[tuple[int, int, str]]:
    if found := _NEGATION.match(line):
        yield found.start(1), found.end(1), ""
    if _CONDITION.match(line) and ":=" not in line and " with " not in line:
        yield len(line) - len(line.lstrip()), len(line), ""
    for token in _TOKEN.finditer(line):
        match token.lastgroup:
            case "operator":
                yield token.start(), token.end(), _OTHERS[token[0]]
            case "number":
                yield token.start(), token.end(), str(int(token[0]) + 1)
            case "boolean":
                yield token.start(), token.end(), "false" if token[0] == "true" else "true"
            case "builtin":
                yield token.start(), token.end(), _BUILTINS[token[0]]
            case "string" if len(token[0]) > 2 and token[0][0] == '"':
                yield token.end() - 1, token.end(), '~"'
