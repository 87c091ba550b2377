"""Links by shape: OPA computes the links of one of many objects that differ only in texts, such as names.

Rego says of which objects and texts that holds (the query `link_shapes`), and computes all links.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from bridge.model.keys import segments_of

EVERY = "*"  # in a pointer, each item of a list
_MOST_TEMPLATES = 2_000
# What stands for a text: `zz7qz` in a shape, and `zz3y7qz` in the object and the links of the third shape of a query.
_TOKEN = re.compile(r"zz(?:\d+y)?(\d+)qz")
_OF_SHAPE = re.compile(r"zz(\d+)y\d+qz")
_TEXT = re.compile(r"(\*\.)?([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)")
_Tree = dict[str, "_Tree"]  # by field; empty: the text there


class Shape(NamedTuple):
    """The fields that links read, as JSON with tokens in place of texts, and these texts in their order."""

    text: str
    texts: tuple[str, ...]


class Shapes:
    """Finds the shapes of objects, and keeps the links of each shape, with tokens.

    `given` is the result of the query `link_shapes`: null while no object has a shape.
    """

    def __init__(self, given: Mapping[str, Any] | None) -> None:
        self._types = frozenset(given["types"] if given else ())
        self._texts = _tree(given["texts"] if given else ())
        self._unread = [segments_of(pointer) for pointer in (given["unread"] if given else ())]
        self._templates: dict[str, str] = {}

    def find(self, type_id: str, declared: msgspec.Raw) -> Shape | None:
        """Return the shape of an object of a type, of which `declared` are the fields that links read; None without."""
        if type_id not in self._types or _TOKEN.search(text := bytes(declared).decode()):
            return None
        part: Any = msgspec.json.decode(text)
        for *above, name in self._unread:
            holder: Any = part
            for field in above:
                holder = holder.get(field) if isinstance(holder, dict) else None
            if isinstance(holder, dict):
                holder.pop(name, None)
        texts: dict[str, int] = {}
        try:
            part = _replaced(part, self._texts, texts)
        except ValueError:
            return None
        if not _TOKEN.fullmatch(str(part["metadata"].get("name"))):
            return None  # the shape's own links could not be found by their key
        return Shape(msgspec.json.encode(part, order="deterministic").decode(), tuple(texts))

    def lacks(self, shape: Shape) -> bool:
        """Return whether the links of a shape are unknown."""
        return shape.text not in self._templates

    def learn(self, shapes: Sequence[str], answer: Mapping[str, Any]) -> None:
        """Keep the links of shapes, as `answer` has them for `examples` of these."""
        if len(self._templates) > _MOST_TEMPLATES:
            self._templates.clear()
        found = {int(name[1]): links for key, links in answer.items() if (name := _OF_SHAPE.search(key))}
        for number, text in enumerate(shapes):
            self._templates[text] = msgspec.json.encode(found.get(number)).decode()

    def links(self, shape: Shape) -> Any:
        """Return the links of an object with a known shape, in the form of the query; None if it has none."""
        template = self._templates[shape.text]
        found = msgspec.json.decode(_TOKEN.sub(lambda token: shape.texts[int(token[1])], template))
        for entry in found["entries"] if found else ():
            if isinstance(entry["value"], list):  # of a set: in the order of its texts
                entry["value"] = sorted(set(entry["value"]))
        return found


def examples(shapes: Sequence[str]) -> list[msgspec.Raw]:
    """Return one object of each shape, whose keys differ."""
    return [msgspec.Raw(_TOKEN.sub(rf"zz{number}y\1qz", text).encode()) for number, text in enumerate(shapes)]


def _tree(pointers: Sequence[str]) -> _Tree:
    tree: _Tree = {}
    for pointer in pointers:
        below = tree
        for name in segments_of(pointer):
            below = below.setdefault(name, {})
    return tree


def _replaced(value: Any, tree: _Tree, texts: dict[str, int]) -> Any:
    """Return a value with tokens. Raises ValueError if its texts are not the only thing that may differ."""
    if not tree:
        return "/".join(_token(part, texts) for part in value.split("/")) if isinstance(value, str) else value
    if isinstance(value, dict):
        for name, below in tree.items():
            if name in value:
                value[name] = _replaced(value[name], below, texts)
    elif isinstance(value, list) and EVERY in tree:
        return [_replaced(item, tree[EVERY], texts) for item in value]
    return value


def _token(text: str, texts: dict[str, int]) -> str:
    found = _TEXT.fullmatch(text)
    if not found:
        if _TEXT.fullmatch(text.lower()):
            raise ValueError("it may be equal to another text in lower case")
        return text
    return f"{found[1] or ''}zz{texts.setdefault(found[2], len(texts))}qz"
