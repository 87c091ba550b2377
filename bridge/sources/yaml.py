"""The documents of a YAML or JSON text with the line of each; a broken document does not hide the others.

PyYAML follows YAML 1.1 exactly: `12:30` is the number 750 and `2024-01-01` a date. kubectl reads both as strings, reads
`y` and `off` as booleans, and returns only values of JSON.
"""

from __future__ import annotations

import base64
import functools
import json
import math
import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

from bridge.model.nesting import MAX_MESSAGE_DEPTH, NestingError, exceeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_Member = tuple[yaml.Node, yaml.Node]  # the key and the value

_TAG = "tag:yaml.org,2002:"
_TEXT = f"{_TAG}str"
_NUMBER = f"{_TAG}float"
_MERGE = f"{_TAG}merge"
_SECOND_ANCHOR = "second occurrence"  # PyYAML's problem of an anchor that is defined again
_SAFE_INTEGER = 2**53  # up to here a float without a fraction equals the integer
_MAX_EXPANSION = 1_000_000  # characters and values that aliases may add to those of the text
_SHOWN = 100  # characters of a wrong number in a message
_WORDS = 20_000  # plain values with a cached tag: keys and most values recur


class YamlLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Resolves plain values like kubectl's parser; `Construction` makes values of its nodes."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """Return the tag of a node without one."""
        if kind is yaml.ScalarNode:
            return _plain_tag(value) if implicit[0] else _TEXT
        tag: str = super().resolve(kind, value, implicit)
        return tag


class _ReusingAnchors(yaml.composer.Composer, YamlLoader):
    """Composes nodes of texts that define an anchor again, which YAML allows and libyaml's composer does not."""

    def __init__(self, stream: str) -> None:
        YamlLoader.__init__(self, stream)  # type: ignore[call-arg]  # without libyaml it has another base
        yaml.composer.Composer.__init__(self)

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node. An alias refers to the last definition before it (YAML 1.2.2, section 3.2.2.2)."""
        event = self.peek_event()
        if not isinstance(event, yaml.AliasEvent):
            self.anchors.pop(event.anchor, None)
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


def compose(text: str) -> yaml.Node | None:
    """Return the node of the only document in a text; None without one. Raises YAMLError."""
    try:
        return _compose_with(YamlLoader, text)
    except ComposerError as error:
        if error.problem != _SECOND_ANCHOR:
            raise
    return _compose_with(_ReusingAnchors, text)


def _compose_with(loader_class: type[YamlLoader], text: str) -> yaml.Node | None:
    loader = loader_class(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
        return node
    finally:
        loader.dispose()


@functools.lru_cache(_WORDS)
def _plain_tag(text: str) -> str:
    for tag, pattern in YamlLoader.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            found: str = tag
            return found
    return _TEXT


def _construct_number(node: yaml.ScalarNode) -> int | float:
    try:
        return number_of(node.value.replace("_", ""))
    except ValueError as error:
        raise ConstructorError(
            None, None, f"{node.value[:_SHOWN]!r} is not a number that JSON supports", node.start_mark
        ) from error


def number_of(text: str) -> int | float:
    """Return the number that kubectl's parser reads: `0777` and `0o777` are octal, `08` is 8, `1e3` is 1000.

    Raises ValueError for infinity and for other texts.
    """
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    lower = digits.lower()
    if lower.startswith(("0x", "0o", "0b")):
        return _check_bounds(sign * int(lower, 0))
    if re.fullmatch("0[0-7]+", digits):
        return _check_bounds(sign * int(digits, 8))
    if digits.isdecimal() and -(2**63) <= sign * int(digits) < 2**64:
        return sign * int(digits)
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{text} is infinite")
    return sign * int(number) if number.is_integer() and number < _SAFE_INTEGER else sign * number


def _check_bounds(number: int) -> int:
    if not -(2**63) <= number < 2**64:
        raise ValueError("the number has more than 64 bits")
    return number


def _resolve(tag: str, pattern: str, first: str) -> None:
    YamlLoader.add_implicit_resolver(tag, re.compile(rf"(?:{pattern})$"), list(first))


_resolve(
    f"{_TAG}bool", "y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"
)
YamlLoader.add_implicit_resolver(f"{_TAG}null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_resolve(_MERGE, "<<", "<")
_resolve(
    _NUMBER,
    r"[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[oO][0-7_]+|[-+]?0[bB][01_]+"
    r"|[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "-+.0123456789",
)

# A key `<<` that merges nothing, in a list or as a value, is a string.
_SCALARS: Mapping[str, Callable[[yaml.ScalarNode], Any]] = {
    _TEXT: lambda node: node.value,
    f"{_TAG}null": lambda _: None,
    f"{_TAG}bool": lambda node: node.value.lower() in {"y", "yes", "true", "on"},
    f"{_TAG}int": _construct_number,
    _NUMBER: _construct_number,
    f"{_TAG}timestamp": lambda node: node.value,
}


class Construction:
    """Makes a value from a document's nodes that has no shared parts and only JSON values.

    Keys become strings; a repeated key is an error, as for the API server.
    """

    def __init__(self, length: int, first_line: int = 1) -> None:
        self._first_line = first_line
        # Without aliases, a text of this many characters has at most twice as many values and characters in them.
        self._left = 2 * length + _MAX_EXPANSION
        self._merged: dict[int, list[_Member]] = {}  # the members of mappings with merge keys, which are replaced

    def of(self, node: yaml.Node, depth: int = 0) -> Any:
        """Return the value of a node with at most this number of levels.

        Raises ConstructorError for errors in the YAML, ValueError for values without a form in JSON, NestingError for a
        value that is too deep, or contains itself.
        """
        self._count(depth, 1)
        if isinstance(node, yaml.ScalarNode):
            self._count(depth, len(node.value))
            scalar = _SCALARS.get(node.tag)
            return scalar(node) if scalar else self._other(node)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return {self._key(key): self.of(value, depth + 1) for key, value in self._members(node, depth)}
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.of(item, depth + 1) for item in node.value]
        return self._other(node)

    def _count(self, depth: int, cost: int) -> None:
        self._left -= cost
        if depth > MAX_MESSAGE_DEPTH:
            raise NestingError
        if self._left < 0:
            raise ValueError(f"its aliases expand to more than {_MAX_EXPANSION} values or characters")

    def _members(self, node: yaml.MappingNode, depth: int) -> list[_Member]:
        if id(node) in self._merged:
            return self._merged[id(node)]
        own: dict[tuple[str, str], _Member] = {}
        merges = []
        for key, value in node.value:
            if key.tag == _MERGE:
                merges.append(value)
                continue
            if not isinstance(key, yaml.ScalarNode):
                raise ConstructorError("while constructing a mapping", None, "found unhashable key", key.start_mark)
            if (key.tag, key.value) in own:
                first = self._first_line + own[key.tag, key.value][0].start_mark.line
                reason = f"duplicate key {key.value!r} (first used on line {first})"
                raise ConstructorError(None, None, reason, key.start_mark)
            own[key.tag, key.value] = (key, value)
        if not merges:
            return list(own.values())
        self._merged[id(node)] = list((self._merge(merges, depth) | own).values())
        return self._merged[id(node)]

    def _merge(self, merges: list[yaml.Node], depth: int) -> dict[tuple[str, str], _Member]:
        merged: dict[tuple[str, str], _Member] = {}
        for value in merges:
            # Of several mappings in a list the first one has precedence. Each is counted before it is copied.
            for source in reversed(value.value) if isinstance(value, yaml.SequenceNode) else [value]:
                self._count(depth + 1, 1)
                if not isinstance(source, yaml.MappingNode):
                    reason = "expected a mapping or list of mappings for merging"
                    raise ConstructorError(None, None, reason, source.start_mark)
                for member in self._members(source, depth + 1):
                    self._count(depth, 1)
                    merged[member[0].tag, member[0].value] = member
        return merged

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise ConstructorError("while constructing a mapping", None, "found unhashable key", node.start_mark)
        key = self.of(node)
        return key if isinstance(key, str) else json.dumps(key)

    def _other(self, node: yaml.Node) -> str:
        """Return the value of a node with another tag. Of YAML's other tags JSON can represent only binary text."""
        # PyYAML's constructors assume the kind of node that their tag belongs to.
        if node.tag == f"{_TAG}binary" and isinstance(node, yaml.ScalarNode):
            return base64.b64decode(node.value).decode()
        raise ValueError(f"a {node.tag.removeprefix(_TAG)[:_SHOWN]} has no equivalent in JSON")


UNREADABLE = "it cannot be read"
_SEPARATOR = re.compile(r"(?:---|\.\.\.)(?:\s|$)")
_BLOCK_INDENT = " -?:\t"  # the beginning of a line of YAML: each level of a block is one column further
_DIRECTIVE = re.compile(r"%(?:YAML|TAG)\s")


@dataclass(frozen=True, slots=True)
class Document:
    """One document. `number` counts from 1 in its text; `line` is that of its first content.

    `item_lines` are the lines of the entries of its `items` (of a List) or `tests` (of a Suite), empty in JSON.
    """

    number: int
    line: int
    value: Any
    item_lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenDocument:
    """A document that cannot be read: `reason` in one line, at `line`."""

    number: int
    line: int
    reason: str


def read_documents(text: str) -> Iterator[Document | BrokenDocument]:
    """Return all documents of a text, in order, without empty ones.

    A text that begins with `{` is parsed as JSON (several values may follow each other), unless it is such YAML. Text
    between `...` and the next `---` is an error, because kubectl ignores it.
    """
    number = 1
    for first_line, chunk, is_ignored in _split(text):
        documents = _find_text(number, first_line, chunk) if is_ignored else _read_chunk(number, first_line, chunk)
        for document in documents:
            yield document
            number += 1


def _split(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the text between separators, the number of its first line, and whether it is between `...` and `---`.

    YAML documents contain no separators.
    """
    lines: list[str] = []
    first_line, is_ignored = 1, False
    for number, line in enumerate(re.split(r"(?<=\n)", text), start=1):
        if _SEPARATOR.match(line):
            yield first_line, "".join(lines), is_ignored
            # Text after `---` belongs to the next document; blanks keep its column.
            lines = ["   " + line[3:]]
            first_line, is_ignored = number, line.startswith(".")
        else:
            lines.append("\n" if _DIRECTIVE.match(line) else line)
    yield first_line, "".join(lines), is_ignored


def _find_text(number: int, first_line: int, chunk: str) -> Iterator[BrokenDocument]:
    for line, text in enumerate(chunk.splitlines(), start=first_line):
        if text.strip() and not text.lstrip().startswith("#"):
            reason = "kubectl ignores the text after `...`: begin each document with ---"
            yield BrokenDocument(number, line, reason)
            return


def _read_chunk(number: int, first_line: int, chunk: str) -> Sequence[Document | BrokenDocument]:
    try:
        return list(_read_each(number, first_line, chunk))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever an author has written, the other documents are read
        return [BrokenDocument(number, first_line, f"{UNREADABLE} ({type(error).__name__}): simplify it")]


def _read_each(number: int, first_line: int, chunk: str) -> Iterator[Document | BrokenDocument]:
    if chunk.lstrip().startswith("{"):
        documents = list(_read_json(number, first_line, chunk))
        if not isinstance(documents[-1], BrokenDocument):
            yield from documents
            return
        document = _read_yaml(number, first_line, chunk)
        yield from [document] if isinstance(document, Document) else documents
        return
    document = _read_yaml(number, first_line, chunk)
    if document is not None:
        yield document


def _read_yaml(number: int, first_line: int, chunk: str) -> Document | BrokenDocument | None:
    if all(not (stripped := line.strip()) or stripped.startswith("#") for line in chunk.splitlines()):
        return None
    line = first_line
    try:
        _refuse_abysses(chunk)
        node = compose(chunk)
        if node is None:
            return None
        line = first_line + node.start_mark.line
        value = Construction(len(chunk), first_line).of(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = first_line + mark.line if mark is not None else line
        reason = f"invalid YAML: {error.problem or error.context}"
        return BrokenDocument(number, where, reason + _hint_of_template(chunk, where - first_line))
    except yaml.reader.ReaderError as error:
        line = first_line + chunk.count("\n", 0, error.position)
        return BrokenDocument(number, line, f"invalid YAML: {error.reason}")
    except (NestingError, RecursionError):  # the latter for merge keys, each of which refers to the next
        return BrokenDocument(number, line, f"YAML that JSON cannot represent: {NestingError()}, or contains itself")
    except ValueError as error:
        return BrokenDocument(number, line, f"YAML that JSON cannot represent: {error}")
    return None if value is None else Document(number, line, value, _find_item_lines(node, first_line))


def _refuse_abysses(chunk: str) -> None:
    """Raise NestingError for too deep YAML: libyaml's stack cannot handle much more, and would end the process."""
    # Each level needs a bracket, or a separate column. Only text that could be that deep is parsed for this check.
    indent = max(len(line) - len(line.lstrip(_BLOCK_INDENT)) for line in chunk.split("\n"))
    if chunk.count("[") + chunk.count("{") + indent + 1 < MAX_MESSAGE_DEPTH:
        return
    depth = 0
    for event in yaml.parse(chunk, YamlLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_MESSAGE_DEPTH:
            raise NestingError


Place = tuple[str | int, ...]  # of a value in a document: keys and numbers of items, from the outside in


def read_lines(text: str) -> Iterator[tuple[Place, int]]:
    """Return the line of each place in a text that is one document without errors."""
    node = compose(text)
    return _find_lines_below(node, ()) if node else iter(())


def _find_lines_below(node: yaml.Node, place: Place) -> Iterator[tuple[Place, int]]:
    if isinstance(node, yaml.MappingNode):
        children = [(key.value, key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        children = [(number, item, item) for number, item in enumerate(node.value)]
    else:
        return
    for step, marked, value in children:
        yield (*place, step), marked.start_mark.line + 1
        yield from _find_lines_below(value, (*place, step))


class Lines:
    """The lines of values in a text, whose documents are composed again one at a time."""

    def __init__(self, text: str) -> None:
        self._parts = list(_split(text))
        self._composed: tuple[str, yaml.Node | None] = ("", None)

    def of(self, line: int, place: Place) -> int:
        """Return the line of a place in the object that begins at a line; of what contains it if it has none itself."""
        first_line, chunk, _ = [part for part in self._parts if part[0] <= line][-1]
        if chunk != self._composed[0]:
            try:
                self._composed = chunk, compose(chunk)
            except yaml.YAMLError:  # several values of JSON
                self._composed = chunk, None
        node = _find_object(self._composed[1], line - first_line)
        for step in place:
            if isinstance(node, yaml.MappingNode):
                found = next(((key, value) for key, value in node.value if key.value == step), None)
            else:
                items = node.value if isinstance(node, yaml.SequenceNode) else []
                found = next(((item, item) for number, item in enumerate(items) if number == step), None)
            if found is None:
                break
            line = first_line + found[0].start_mark.line
            node = found[1]
        return line


def _find_object(node: yaml.Node | None, line: int) -> yaml.Node | None:
    """Return the document's node, or the item of a list, that begins at a line."""
    if node is None or node.start_mark.line == line:
        return node
    members = node.value if isinstance(node, yaml.MappingNode) else []
    lists = [value.value for key, value in members if key.value == "items" and isinstance(value, yaml.SequenceNode)]
    return next((found for item in chain(*lists) if (found := _find_object(item, line))), None)


def _find_item_lines(node: yaml.Node, first_line: int) -> tuple[int, ...]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value in {"items", "tests"} and isinstance(value, yaml.SequenceNode):
                return tuple(first_line + item.start_mark.line for item in value.value)
    return ()


def _hint_of_template(text: str, line: int) -> str:
    """Return the hint for an error at a line (from 0) that has an expression of a template, else an empty text."""
    is_template = any("{{" in found for found in text.split("\n")[line : line + 1])
    return "; this is a template: read the output of its tool, such as `helm template`" if is_template else ""


def _read_json(number: int, first_line: int, text: str) -> Iterator[Document | BrokenDocument]:
    decoder = json.JSONDecoder(
        object_pairs_hook=_refuse_doubles, parse_constant=_refuse_constant, parse_int=number_of, parse_float=_read_float
    )
    position = 0
    counted, line = 0, first_line
    while (start := _skip_blanks(text, position)) < len(text):
        line += text.count("\n", counted, start)
        counted = start
        try:
            value, position = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            reason = f"invalid JSON: {error.msg}" + _hint_of_template(text, error.lineno - 1)
            yield BrokenDocument(number, first_line + error.lineno - 1, reason)
            return
        except (ValueError, RecursionError) as error:
            reason = str(NestingError()) if isinstance(error, RecursionError) else f"invalid JSON: {error}"
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


def _refuse_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        raise ValueError(f"duplicate key {next(key for key, _ in pairs if key in seen or seen.add(key))!r}")  # type: ignore[func-returns-value]
    return value


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:_SHOWN]} is infinite")
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that JSON supports")
