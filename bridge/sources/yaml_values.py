"""YAML values as kubectl reads them.

PyYAML follows YAML 1.1 to the letter: `12:30` is the number 750 and `2024-01-01` a date. kubectl takes both as text,
takes `y` and `off` for booleans, and gives only what JSON can hold.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, ClassVar

import yaml
from yaml.constructor import ConstructorError

from bridge.model.nesting import MAX_MESSAGE_DEPTH, NestingError

if TYPE_CHECKING:
    from collections.abc import Hashable

_NUMBER = "tag:yaml.org,2002:float"
_SAFE_INTEGER = 2**53  # up to here a float with no fraction and the integer are the same number
_MAX_VALUES = 1_000_000  # what a document's aliases may unfold to


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Constructs what kubectl's parser would; a key that occurs twice is an error, as it is for the API server."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping, in which each key occurs once. Raises ConstructorError otherwise."""
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            name = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else None
            if name in seen:
                raise ConstructorError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
            if name is not None and key.tag != "tag:yaml.org,2002:merge":
                seen.add(name)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def _construct_number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    text = str(loader.construct_scalar(node)).replace("_", "")
    try:
        return number_of(text)
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
    "tag:yaml.org,2002:bool",
    "y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
    "yYnNtTfFoO",
)
Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_resolve("tag:yaml.org,2002:merge", "<<", "<")
_resolve(
    _NUMBER,
    r"[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[oO][0-7_]+|[-+]?0[bB][01_]+"
    r"|[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "-+.0123456789",
)
Loader.add_constructor(_NUMBER, _construct_number)
Loader.add_constructor("tag:yaml.org,2002:int", _construct_number)
Loader.add_constructor(
    "tag:yaml.org,2002:bool",
    lambda loader, node: loader.construct_scalar(node).lower() in {"y", "yes", "true", "on"},
)
Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))


class JsonCopy:
    """A copy of a value that shares nothing within itself and holds only what JSON can: keys become text."""

    def __init__(self) -> None:
        self._values = 0

    def of(self, value: Any, depth: int = 0) -> Any:
        """The copy of a value within so many levels.

        Raises ValueError for what has no form in JSON, NestingError for what is too deep, or contains itself.
        """
        self._values += 1
        if depth > MAX_MESSAGE_DEPTH:
            raise NestingError
        if self._values > _MAX_VALUES:
            raise ValueError(f"its aliases unfold to more than {_MAX_VALUES} values")
        if isinstance(value, dict):
            return {_key(key): self.of(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self.of(item, depth + 1) for item in value]
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, bytes):
            return value.decode()
        raise ValueError(f"a {type(value).__name__} has no form in JSON")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool | int | float) or key is None:
        return json.dumps(key)
    raise ValueError(f"the key {key!r} is no text")
