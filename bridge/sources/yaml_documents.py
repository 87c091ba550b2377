"""The documents of a YAML or JSON text with the line of each; a broken document does not hide the others."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from bridge.model.nesting import MAX_MESSAGE_DEPTH, NestingError, exceeds
from bridge.sources.yaml_values import Construction, Loader

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEPARATOR = re.compile(r"(?:---|\.\.\.)(?:\s|$)")
_BLOCK_INDENT = " -?:\t"  # what a line of YAML begins with: each level of a block is a column further
_DIRECTIVE = re.compile(r"%(?:YAML|TAG)\s")


@dataclass(frozen=True, slots=True)
class Document:
    """One document. `number` counts from 1 in its text; `line` is that of its first content.

    `item_lines` are the lines of the entries of its `items`, where it has such a list (empty in JSON).
    """

    number: int
    line: int
    value: Any
    item_lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenDocument:
    """A document that cannot be read: `reason` in one line, found at `line`."""

    number: int
    line: int
    reason: str


def read_documents(text: str) -> Iterator[Document | BrokenDocument]:
    """All documents of a text, in order; those without content are left out.

    What begins with `{` is taken for JSON (several values may follow each other), unless it is YAML that does so.
    """
    number = 1
    for first_line, chunk in _split(text):
        for document in _read_chunk(number, first_line, chunk):
            yield document
            number += 1


def _split(text: str) -> Iterator[tuple[int, str]]:
    """The text between separators, with the number of its first line. YAML allows none of them inside a document."""
    lines: list[str] = []
    first_line = 1
    for number, line in enumerate(re.split(r"(?<=\n)", text), start=1):
        if _SEPARATOR.match(line):
            yield first_line, "".join(lines)
            # What stands behind `---` belongs to the next document; blanks keep its column.
            lines = ["   " + line[3:]] if line.startswith("-") else ["\n"]
            first_line = number
        else:
            lines.append("\n" if _DIRECTIVE.match(line) else line)
    yield first_line, "".join(lines)


def _read_chunk(number: int, first_line: int, chunk: str) -> Iterator[Document | BrokenDocument]:
    if chunk.lstrip().startswith("{"):
        documents = list(_json_documents(number, first_line, chunk))
        if not isinstance(documents[-1], BrokenDocument):
            yield from documents
            return
        document = _yaml_document(number, first_line, chunk)
        yield from [document] if isinstance(document, Document) else documents
        return
    document = _yaml_document(number, first_line, chunk)
    if document is not None:
        yield document


def _yaml_document(number: int, first_line: int, chunk: str) -> Document | BrokenDocument | None:
    if all(not (stripped := line.strip()) or stripped.startswith("#") for line in chunk.splitlines()):
        return None
    line = first_line
    try:
        _refuse_abysses(chunk)
        loader = Loader(chunk)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            line = first_line + node.start_mark.line
            value = Construction(loader).of(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = first_line + mark.line if mark is not None else line
        return BrokenDocument(number, where, f"no YAML: {error.problem or error.context}")
    except yaml.reader.ReaderError as error:
        return BrokenDocument(number, first_line + chunk.count("\n", 0, error.position), f"no YAML: {error.reason}")
    except (NestingError, RecursionError):  # the latter of merge keys, each of which refers to the next
        return BrokenDocument(number, line, f"no YAML that JSON can hold: {NestingError()}, or contains itself")
    except ValueError as error:
        return BrokenDocument(number, line, f"no YAML that JSON can hold: {error}")
    return None if value is None else Document(number, line, value, _item_lines(node, first_line))


def _refuse_abysses(chunk: str) -> None:
    """Raise NestingError for what is too deep: libyaml's stack takes not much more, and would end the process."""
    # Each level needs a bracket, or a column of its own. Only what could be that deep is parsed for it.
    indent = max(len(line) - len(line.lstrip(_BLOCK_INDENT)) for line in chunk.split("\n"))
    if chunk.count("[") + chunk.count("{") + indent + 1 < MAX_MESSAGE_DEPTH:
        return
    depth = 0
    for event in yaml.parse(chunk, Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_MESSAGE_DEPTH:
            raise NestingError


def _item_lines(node: yaml.Node, first_line: int) -> tuple[int, ...]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "items" and isinstance(value, yaml.SequenceNode):
                return tuple(first_line + item.start_mark.line for item in value.value)
    return ()


def _json_documents(number: int, first_line: int, text: str) -> Iterator[Document | BrokenDocument]:
    decoder = json.JSONDecoder(object_pairs_hook=_without_doubles, parse_constant=_no_constant)
    position = 0
    while (start := _skip_blanks(text, position)) < len(text):
        line = first_line + text.count("\n", 0, start)
        try:
            value, position = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            yield BrokenDocument(number, first_line + error.lineno - 1, f"no JSON: {error.msg}")
            return
        except (ValueError, RecursionError) as error:
            reason = str(NestingError()) if isinstance(error, RecursionError) else f"no JSON: {error}"
            yield BrokenDocument(number, line, reason)
            return
        if exceeds(text[start:position].encode(errors="surrogatepass"), MAX_MESSAGE_DEPTH):
            yield BrokenDocument(number, line, str(NestingError()))
        else:
            yield Document(number, line, value)
        number += 1


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number that JSON can hold")
