"""YAML values as kubectl reads them.

PyYAML follows YAML 1.1 to the letter: `12:30` is the number 750 and `2024-01-01` a date. kubectl takes both as text,
takes `y` and `off` for booleans, and gives only what JSON can hold.
"""

from __future__ import annotations

import functools
import json
import math
import re
from typing import TYPE_CHECKING, Any, ClassVar

import yaml
from yaml.constructor import ConstructorError

from bridge.model.nesting import MAX_MESSAGE_DEPTH, NestingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TAG = "tag:yaml.org,2002:"
_TEXT = f"{_TAG}str"
_NUMBER = f"{_TAG}float"
_MERGE = f"{_TAG}merge"
_SAFE_INTEGER = 2**53  # up to here a float with no fraction and the integer are the same number
_MAX_VALUES = 1_000_000  # what a document's aliases may unfold to
_WORDS = 20_000  # plain values whose tag is remembered: keys and most values recur


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Resolves plain values as kubectl's parser does; `Construction` makes values of its nodes."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """The tag of a node that has none."""
        if kind is yaml.ScalarNode:
            return _plain_tag(value) if implicit[0] else _TEXT
        tag: str = super().resolve(kind, value, implicit)
        return tag


@functools.lru_cache(_WORDS)
def _plain_tag(text: str) -> str:
    for tag, pattern in Loader.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            found: str = tag
            return found
    return _TEXT


def _number(node: yaml.ScalarNode) -> int | float:
    try:
        return number_of(node.value.replace("_", ""))
    except ValueError as error:
        raise ConstructorError(
            None, None, f"{node.value!r} is no number that JSON can hold", node.start_mark
        ) from error


def number_of(text: str) -> int | float:
    """The number that kubectl's parser reads: `0777` and `0o777` are octal, `08` is 8, `1e3` is 1000.

    Raises ValueError for infinity and for what is no number.
    """
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    lower = digits.lower()
    if lower.startswith(("0x", "0o", "0b")):
        return sign * int(lower, 0)
    if re.fullmatch("0[0-7]+", digits):
        return sign * int(digits, 8)
    if digits.isdecimal() and -(2**63) <= sign * int(digits) < 2**64:
        return sign * int(digits)
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{text} is infinite")
    return sign * int(number) if number.is_integer() and number < _SAFE_INTEGER else sign * number


def _resolve(tag: str, pattern: str, first: str) -> None:
    Loader.add_implicit_resolver(tag, re.compile(rf"(?:{pattern})$"), list(first))


_resolve(
    f"{_TAG}bool",
    "y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
    "yYnNtTfFoO",
)
Loader.add_implicit_resolver(f"{_TAG}null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_resolve(_MERGE, "<<", "<")
_resolve(
    _NUMBER,
    r"[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[oO][0-7_]+|[-+]?0[bB][01_]+"
    r"|[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "-+.0123456789",
)

# A key `<<` that merges nothing, in a list or as a value, is text.
_SCALARS: Mapping[str, Callable[[yaml.ScalarNode], Any]] = {
    _TEXT: lambda node: node.value,
    f"{_TAG}null": lambda _: None,
    f"{_TAG}bool": lambda node: node.value.lower() in {"y", "yes", "true", "on"},
    f"{_TAG}int": _number,
    _NUMBER: _number,
    f"{_TAG}timestamp": lambda node: node.value,
}


class Construction:
    """Makes of a document's nodes a value that shares nothing within itself and holds only what JSON can.

    Keys become text; a key that occurs twice is an error, as it is for the API server. `loader` composed the nodes.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._values = 0
        self._merged: set[int] = set()  # mappings whose merge keys are replaced already

    def of(self, node: yaml.Node, depth: int = 0) -> Any:
        """The value of a node within so many levels.

        Raises ConstructorError for what is wrong in the YAML, ValueError for what has no form in JSON, NestingError for
        what is too deep, or contains itself.
        """
        self._values += 1
        if depth > MAX_MESSAGE_DEPTH:
            raise NestingError
        if self._values > _MAX_VALUES:
            raise ValueError(f"its aliases unfold to more than {_MAX_VALUES} values")
        if isinstance(node, yaml.ScalarNode):
            scalar = _SCALARS.get(node.tag)
            return scalar(node) if scalar else self._other(node)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return {self._key(key): self.of(value, depth + 1) for key, value in self._members(node)}
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.of(item, depth + 1) for item in node.value]
        return self._other(node)

    def _members(self, node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
        members: list[tuple[yaml.Node, yaml.Node]] = node.value
        if id(node) in self._merged:
            return members
        seen = set()
        merges = False
        for key, _ in members:
            name = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else None
            if key.tag == _MERGE:
                merges = True
            elif name is not None and name in seen:
                raise ConstructorError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
            seen.add(name)
        if merges:
            self._merged.add(id(node))
            self._loader.flatten_mapping(node)
        return node.value  # type: ignore[no-any-return]

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise ConstructorError("while constructing a mapping", None, "found unhashable key", node.start_mark)
        key = self.of(node)
        return key if isinstance(key, str) else json.dumps(key)

    def _other(self, node: yaml.Node) -> str:
        """The value of a node with another tag. Of YAML's others JSON can hold binary text alone."""
        value = self._loader.construct_object(node, deep=True)
        if isinstance(value, bytes):
            return value.decode()
        raise ValueError(f"a {node.tag.removeprefix(_TAG)} has no form in JSON")
