"""A slice: for a question about some routes OPA gets few of the other routes and of the policies that target routes.

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
_PLAIN = re.compile(r"[\w.-]+", re.ASCII)  # names that JSON has only one form for


class Question(Protocol):
    """What a command wants to know: answers about targets that its words name."""

    def names(self, types: Collection[str]) -> frozenset[str]:
        """Return the names of the targets if all are objects of these types; none otherwise."""

    async def targets(self, opa: Opa) -> list[Key]:
        """Return what may be a target in an OPA; none if that is unknown."""


class Withheld(NamedTuple):
    """What a slice may be without, as the query `withheld` returns it.

    Objects of `types`, and those that name only such objects in the fields `refs` of their spec, and have none of the
    fields `selectors`. Nothing, if there is an object of the types `selecting`.
    """

    types: Collection[str]
    refs: Sequence[str]
    selectors: Sequence[str]
    selecting: Collection[str]

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
        """Return whether a slice of these objects for a question about these names lacks any, as far as types tell."""
        types = {f"{group_of(obj['apiVersion'])}/{obj['kind']}" for obj in objects}
        return types.isdisjoint(self.selecting) and any(obj["metadata"]["name"] in names for obj in objects)


class Slice:
    """A `Source` without objects that can be `withheld`: of these it delivers what may be a target of the question.

    It delivers one of each type, too: a type without any object would look as if the source did not have it.
    """

    def __init__(self, source: Source, withheld: Withheld, question: Question) -> None:
        self._source = source
        self._can_be = withheld
        self._question = question
        self._names = question.names(withheld.types)
        self._types: set[str] = set()  # with an object that was delivered
        self._delivered: set[Key] = set()  # of those that can be withheld
        self._withheld: dict[Key, Object] = {}
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

    def take_out(self, keys: Iterable[Key] | None = None) -> list[Object]:
        """Return the objects with these keys, or all, that were not delivered; from now on they are."""
        taken = set(self._withheld if keys is None else keys)
        self._delivered |= taken
        return [self._withheld.pop(key) for key in taken]

    async def find_read(self, opa: Opa) -> Collection[Key]:
        """Return the withheld objects that the answer reads: all of them, if OPA cannot say. Raises OpaError."""
        targets = [str(key) for key in await self._question.targets(opa)]
        types = {(obj["apiVersion"], obj["kind"]) for obj in self._withheld.values()}
        withheld = [{"apiVersion": version, "kind": kind} for version, kind in sorted(types)]
        mentions = Mentions(self._withheld)
        found: set[Key] = set()
        names: set[tuple[str, str]] = set()
        while targets and len(found) <= MOST:
            objects = [mentions.declaring(key) for key in found]
            answer = await opa.query("slice", {"targets": targets, "objects": objects, "withheld": withheld})
            if answer is None:
                break
            read = self._withheld.keys() & set(map(parse_key, answer["read"]))
            new = {(namespace, name) for namespace, name in answer["names"]} - names
            more = read.union(*(mentions.of_name(*name) for name in new)) - found
            if not more:
                return read
            names |= new
            found |= more
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
        obj = self._objects[key]
        metadata = {name: obj["metadata"][name] for name in ("name", "namespace") if name in obj["metadata"]}
        identity = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}
        return {**identity, "spec": msgspec.Raw(self._texts[key])}

    def of_name(self, namespace: str, name: str) -> set[Key]:
        """Return the objects that may name an object: those of its namespace, and those that name that, too."""
        there: Iterable[Key] = self._texts
        if namespace != CLUSTER:
            if namespace not in self._naming:
                self._naming[namespace] = [key for key, text in self._texts.items() if _contains(text, namespace)]
            there = (*self._by_namespace.get(namespace, ()), *self._naming[namespace])
        return {key for key in there if _contains(self._texts[key], name)}


def _contains(text: bytes, name: str) -> bool:
    return f'"{name}"'.encode() in text if _PLAIN.fullmatch(name) else True


def _json(value: Any) -> bytes:
    return bytes(value) if isinstance(value, msgspec.Raw) else msgspec.json.encode(value)
