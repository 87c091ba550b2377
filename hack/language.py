"""Check the words of docs, docstrings, comments, messages and names of functions: `python -m hack.language`.

`hack/language.txt` lists expressions that the style for English replaces, each with its replacement. Code, links and
recorded output are not checked.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
WORDS = Path(__file__).with_name("language.txt")
PATHS = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs/",
    "bridge/",
    "rego/",
    "hack/",
    "deploy/",
    "examples/",
    "tests/",
)
EXEMPT = frozenset({"tests/unit/test_language.py"})  # it has the expressions as examples
_NAME = 1  # word
_LITERAL = re.compile(r"`[^`]*`|\]\([^)]*\)|\"[^\"]*\"|<!--.*?-->")


class Expression(NamedTuple):
    """An expression to avoid, and its replacement."""

    pattern: re.Pattern[str]
    instead: str


def read_words(text: str) -> list[Expression]:
    """Return the expressions of a word list: `EXPRESSION -> REPLACEMENT` lines; # begins a comment."""
    lines = [line.split(" -> ") for line in text.splitlines() if line and not line.startswith("#")]
    return [Expression(re.compile(rf"\b(?:{words.strip()})\b", re.IGNORECASE), instead) for words, instead in lines]


def findings(path: str, text: str, words: Sequence[Expression]) -> Iterator[str]:
    """Yield one line for each expression in the prose of a file."""
    anything = re.compile("|".join(word.pattern.pattern for word in words), re.IGNORECASE)
    for number, line in _PROSE[Path(path).suffix](text):
        prose = _LITERAL.sub("", line)
        if anything.search(prose):
            for word in words:
                if found := word.pattern.search(prose):
                    yield f"{path}:{number}: {found[0]!r}: write {word.instead}"


def _of_markdown(text: str) -> Iterator[tuple[int, str]]:
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith("    "):
            yield number, line


def _of_python(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        # Docstrings, help texts and messages; a text with few words is a name.
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > _NAME:
            yield from enumerate(node.value.splitlines(), node.lineno)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name.replace("_", " ")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _of_rego(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            yield number, line
        elif line.startswith("test_"):
            yield number, line.split(maxsplit=1)[0].replace("_", " ")


def _of_yaml(text: str) -> Iterator[tuple[int, str]]:
    yield from enumerate(text.splitlines(), 1)


_PROSE = {".md": _of_markdown, ".py": _of_python, ".rego": _of_rego, ".yaml": _of_yaml}


def main() -> int:
    """Print the findings; return 1 if there are any."""
    words = read_words(WORDS.read_text(encoding="utf-8"))
    listed = subprocess.run(["git", "ls-files", *PATHS], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = 0
    for name in listed.splitlines():
        path = ROOT / name
        if path.suffix in _PROSE and path.is_file() and name not in EXEMPT:
            for line in findings(name, path.read_text(encoding="utf-8"), words):
                print(line, file=sys.stderr)
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
