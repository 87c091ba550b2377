"""A slice: for a question about some objects OPA gets few of the other routes and of the policies that target routes.

Rego decides which the answer reads (the queries `withheld` and `slice`). Python finds the objects that may name another
one: their text contains its name.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from bridge.model.changes import Change, Deleted, Object, Source, Upserted
from bridge.model.keys import CLUSTER, Key, group_of, key_of, parse_key
from bridge.opa.client import Opa

QUERIES = ("slice", "withheld")  # that are sent here
MOST = 3_000  # objects among which OPA searches: above this number, the whole costs less
FEW = 200  # objects of a source: up to this number, too
_PLAIN = re.compile(r"[\w.-]+", re.ASCII)  # names that JSON has only one form for


class Question(Protocol):
    """What a command wants to know: answers about targets that its words name."""

    def names(self, types: Collection[str]) -> frozenset[str] | None:
        """Return the names of objects that a slice has in any case; None if the answer may read any object."""

    async def targets(self, opa: Opa) -> list[Key] | None:
        """Return what may be a target in an OPA, none if that is unknown; None if the command says it later."""


class Reading(NamedTuple):
    """What an answer is about: what is in effect at and below `targets`, and the problems of `subjects`.

    `objects` are states of objects that OPA does not have, such as those after a change.
    """

    targets: Collection[Key] = ()
    subjects: Collection[Key] = ()
    objects: Collection[Object] = ()


class Withheld(NamedTuple):
    """What a slice may be without, as the query `withheld` returns it.

    Objects of `types`, and those that name only such objects in the fields `refs` of their spec, and have none of the
    fields `selectors`. Nothing, if there is an object of the types `selecting`. A spec with one of the texts `several`
    may name several objects at once.
    """

    types: Collection[str]
    refs: Sequence[str]
    selectors: Sequence[str]
    selecting: Collection[str]
    several: Collection[str]

    def has(self, obj: Object) -> bool:
        """Return whether a slice may be without an object."""
        if f"{group_of(obj['apiVersion'])}/{obj['kind']}" in self.types:
            return True
        spec = obj.get("spec")
        if isinstance(spec, msgspec.Raw):
            spec = msgspec.json.decode(spec) if any(field.encode() in bytes(spec) for field in self.refs) else None
        if not isinstance(spec, dict) or not spec.keys().isdisjoint(self.selectors):
            return False
        values = [spec[field] for field in self.refs if field in spec]
        refs = [ref for value in values for ref in (value if isinstance(value, list) else [value])]
        return bool(refs) and all(
            isinstance(ref, dict) and f"{ref.get('group')}/{ref.get('kind')}" in self.types for ref in refs
        )

    def spares(self, objects: Iterable[Object], names: Collection[str]) -> bool:
        """Return whether a slice of these objects that has these names lacks any, as far as types tell."""
        types = {f"{group_of(obj['apiVersion'])}/{obj['kind']}" for obj in objects}
        found = not names or any(obj["metadata"]["name"] in names for obj in objects)
        return found and types.isdisjoint(self.selecting)


class Slice:
    """A `Source` without objects that can be `withheld`: of these it delivers those with the names of the question.

    It delivers one of each type, too: a type without any object would look as if the source did not have it.
    """

    def __init__(self, source: Source, withheld: Withheld, names: Collection[str]) -> None:
        self._source = source
        self._can_be = withheld
        self._names = names
        self._types: set[str] = set()  # with an object that was delivered
        self._delivered: set[Key] = set()  # of those that can be withheld
        self._withheld: dict[Key, Object] = {}
        self._mentions: Mentions | None = None
        self.want, self.relist = source.want, source.relist

    async def changes(self) -> AsyncIterator[Change]:
        """Return the change stream of the source."""
        async for change in self._source.changes():
            if isinstance(change, Deleted):
                self._withheld.pop(change.key, None)
            if not isinstance(change, Upserted):
                yield change
            elif objects := tuple(self._deliver(change)):
                yield Upserted(change.type_id, objects)

    def _deliver(self, change: Upserted) -> Iterator[Object]:
        for obj in change.objects:
            is_first = change.type_id not in self._types
            self._types.add(change.type_id)
            if not self._can_be.has(obj):
                yield obj
            elif is_first or obj["metadata"]["name"] in self._names or key_of(obj) in self._delivered:
                self._delivered.add(key_of(obj))
                yield obj
            else:
                self._withheld[key_of(obj)] = obj
                self._mentions = None

    def take_out(self, keys: Iterable[Key] | None = None) -> list[Object]:
        """Return the objects with these keys, or all, that were not delivered; from now on they are."""
        taken = set(self._withheld if keys is None else keys)
        self._delivered |= taken
        return [self._withheld.pop(key) for key in taken if key in self._withheld]  # others were deleted meanwhile

    async def find_read(self, opa: Opa, reading: Reading) -> Collection[Key]:
        """Return the withheld objects that an answer reads: all of them, if OPA cannot say. Raises OpaError."""
        asked = {"targets": [*map(str, reading.targets)], "subjects": [*map(str, reading.subjects)]}
        asked = {name: keys for name, keys in asked.items() if keys}
        types = {(obj["apiVersion"], obj["kind"]) for obj in self._withheld.values()}
        withheld = [{"apiVersion": version, "kind": kind} for version, kind in sorted(types)]
        self._mentions = mentions = self._mentions or Mentions(dict(self._withheld))
        read = self._withheld.keys() & {*reading.targets, *reading.subjects}
        naming_several = mentions.of_texts(self._can_be.several)
        known = [*map(declared, reading.objects), *map(mentions.declaring, read | naming_several)]
        candidates, names = set[Key](), set[str]()
        while self._withheld and asked and len(read) + len(naming_several) <= MOST:
            objects = [*known, *map(mentions.declaring, candidates)]
            answer = await opa.query("slice", {**asked, "objects": objects, "withheld": withheld})
            if answer is None:
                break
            read |= candidates & {*map(parse_key, answer["read"])}
            new = {*answer["names"]} - names
            if not new:
                return read
            names |= new
            asked["from"] = sorted(new)
            keys = {*map(parse_key, new)}
            naming = (mentions.of_name(key.namespace, key.name) for key in keys)
            candidates = (self._withheld.keys() & keys.union(*naming)) - read
        return list(self._withheld)


class Mentions:
    """The objects whose spec contains a text."""

    def __init__(self, objects: Mapping[Key, Object]) -> None:
        self._objects = objects
        self._texts = {key: _json(obj.get("spec")) for key, obj in objects.items()}
        self._by_namespace: dict[str, list[Key]] = {}
        for key in objects:
            self._by_namespace.setdefault(key.namespace, []).append(key)
        self._naming: dict[str, list[Key]] = {}  # by namespace: the objects that name it

    def declaring(self, key: Key) -> dict[str, Any]:
        """Return the part of an object that declares links."""
        return declared(self._objects[key]) | {"spec": msgspec.Raw(self._texts[key])}

    def of_texts(self, texts: Collection[str]) -> set[Key]:
        """Return the objects that have one of these texts, whole, anywhere in their spec."""
        wanted = [msgspec.json.encode(text) for text in texts]
        return {key for key, found in self._texts.items() if any(text in found for text in wanted)}

    def of_name(self, namespace: str, name: str) -> set[Key]:
        """Return the objects that may name an object: those of its namespace, and those that name that, too."""
        there: Iterable[Key] = self._texts
        if namespace != CLUSTER:
            if namespace not in self._naming:
                self._naming[namespace] = [key for key, text in self._texts.items() if _contains(text, namespace)]
            there = (*self._by_namespace.get(namespace, ()), *self._naming[namespace])
        return {key for key in there if _contains(self._texts[key], name)}


def declared(obj: Object) -> dict[str, Any]:
    """Return the part of an object that declares links."""
    metadata = {name: obj["metadata"][name] for name in ("name", "namespace") if name in obj["metadata"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, "spec": obj.get("spec")}


def _contains(text: bytes, name: str) -> bool:
    return f'"{name}"'.encode() in text if _PLAIN.fullmatch(name) else True


def _json(value: Any) -> bytes:
    return bytes(value) if isinstance(value, msgspec.Raw) else msgspec.json.encode(value)
