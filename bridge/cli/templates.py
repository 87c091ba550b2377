"""kubectl's output templates: `-o jsonpath=TEMPLATE` and `-o custom-columns=HEADER:PATH,…`.

The syntax is that of https://kubernetes.io/docs/reference/kubectl/jsonpath/. python-jsonpath (RFC 9535) evaluates
paths; this module translates kubectl's differences (no `$`, dots escaped by a backslash, templates with `range`). A
list is under `.items`, as in kubectl's lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jsonpath

from bridge.cli.table import Table
from bridge.queries.names import CommandError

_TOKENS = re.compile(r"\{((?:[^{}\"']|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')*)\}|([^{}]+)|([{}])")
_PLAIN_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIELD = re.compile(r"(?:\\.|[^.\[\\])+")
_BRACKET = re.compile(r"\[(?:[^\[\]\"']|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\[[^\]]*\])*\]")


@dataclass(frozen=True, slots=True)
class _Range:
    """`{range PATH}…{end}`: the inner parts once for each value."""

    path: jsonpath.JSONPath
    parts: list[_Part]


_Part = str | jsonpath.JSONPath | _Range


class Template:
    """A jsonpath template. Raises CommandError for an invalid one."""

    def __init__(self, text: str) -> None:
        self._text = text
        tokens = list(self._tokens())
        self._parts = self._read(tokens, inside=False)
        if tokens:
            raise CommandError(f"jsonpath {text!r}: {{end}} without {{range}}")

    def render(self, document: Any) -> str:
        """Apply the template to a JSON document; fields that the document lacks are empty, as in kubectl."""
        return "".join(_rendered(self._parts, listed(document)))

    def _tokens(self) -> Iterator[tuple[str, str]]:
        """Split into texts and the contents of braces. A template without braces is one path, as in kubectl."""
        if "{" not in self._text:
            yield "path", self._text
            return
        for match in _TOKENS.finditer(self._text):
            inside, text, stray = match.groups()
            if stray:
                raise CommandError(f"jsonpath {self._text!r}: unmatched {stray!r} at position {match.start() + 1}")
            yield ("text", text) if text is not None else ("path", inside.strip())

    def _read(self, tokens: list[tuple[str, str]], *, inside: bool) -> list[_Part]:
        parts: list[_Part] = []
        while tokens:
            kind, text = tokens[0]
            if kind == "path" and text == "end":
                if inside:
                    tokens.pop(0)
                return parts
            tokens.pop(0)
            if kind == "text":
                parts.append(text)
            elif text[:1] in {'"', "'"}:
                parts.append(_unquoted(text))
            elif text.startswith("range ") or text == "range":
                path = _compiled(text.removeprefix("range").strip(), self._text)
                before = len(tokens)
                parts.append(_Range(path, self._read(tokens, inside=True)))
                if before == len(tokens) or not self._ended:
                    raise CommandError(f"jsonpath {self._text!r}: {{range}} without {{end}}")
            else:
                parts.append(_compiled(text, self._text))
        self._ended = not inside
        return parts

    _ended = True


def custom_columns(text: str, document: Any) -> Table:
    """Return the table for `custom-columns=HEADER:PATH,…`: a row for each item. Raises CommandError."""
    columns = []
    for part in _split_columns(text):
        header, colon, path = part.partition(":")
        if not colon or not header or not path:
            raise CommandError(f"custom-columns {part!r}: write HEADER:PATH, for example TARGET:.target")
        columns.append((header, _compiled(path.strip().removeprefix("{").removesuffix("}"), text)))
    items = document if isinstance(document, list) else [document]
    rows: list[Sequence[str]] = [
        [",".join(map(_text, path.findall(item))) or "<none>" for _, path in columns] for item in items
    ]
    return Table([header for header, _ in columns], rows)


def sort_key(path: str) -> Callable[[Any], tuple[int, float, str]]:
    """Return the key by which entries are sorted by a path: numbers by their size, other values by their text.

    Raises CommandError for a path of another form.
    """
    compiled = _compiled(path.strip().removeprefix("{").removesuffix("}"), path)

    def key(entry: Any) -> tuple[int, float, str]:
        value: Any = next(iter(compiled.findall(entry)), None)
        if value is None:
            return 0, 0.0, ""
        return (1, float(value), "") if isinstance(value, int | float) else (2, 0.0, _text(value))

    return key


def listed(document: Any) -> Any:
    """Return a document in the form for templates: a list is under `items`."""
    return {"items": document} if isinstance(document, list) else document


def _split_columns(text: str) -> Sequence[str]:
    """Return the columns of a text; commas inside brackets do not separate."""
    parts, depth = [""], 0
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _rendered(parts: Sequence[_Part], value: Any) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, _Range):
            for item in part.path.findall(value):
                yield from _rendered(part.parts, item)
        else:
            yield " ".join(map(_text, part.findall(value)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(f'"{text[1:-1]}"' if text[0] == "'" else text))
    except ValueError as error:
        raise CommandError(f"jsonpath: {text} is not a quoted string") from error


def _compiled(path: str, whole: str) -> jsonpath.JSONPath:
    try:
        return jsonpath.JSONPathEnvironment().compile(_standard(path))  # type: ignore[return-value]
    except jsonpath.JSONPathError as error:
        reason = str(error).splitlines()[0]
        raise CommandError(f"jsonpath {whole!r}: {path!r} is not a path: {reason}") from error


def _standard(path: str) -> str:
    r"""Translate kubectl's path to RFC 9535: `.labels.app\.io/name` becomes `$["labels"]["app.io/name"]`."""
    path = path.removeprefix("$").removeprefix("@")
    found, rest = "$", path if path[:1] in {".", "["} or not path else f".{path}"
    while rest and rest != ".":
        if rest.startswith(".."):
            found, rest = found + "..", rest[2:]
            if rest.startswith("["):
                continue
        elif rest.startswith("."):
            rest = rest[1:]
            if rest.startswith("["):
                continue
        if rest.startswith("["):
            match = _BRACKET.match(rest)
            if match is None:
                return found + rest  # the library's error message
            found += match[0].replace('\\"', '"') if match[0].startswith("[?(") else match[0]
        else:
            match = _FIELD.match(rest)
            if match is None:
                return found + rest
            field = re.sub(r"\\(.)", r"\1", match[0])
            deep = found.endswith("..")
            if field == "*" or (deep and _PLAIN_FIELD.fullmatch(field)):
                found += field if deep else f"[{field}]"
            else:
                found += f"[{json.dumps(field)}]"
        rest = rest[match.end() :]
    return found
