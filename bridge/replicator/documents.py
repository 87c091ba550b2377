"""The documents in OPA that the replicator owns, and the writes that one change of an object means there."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import msgspec

from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.replicator.skeleton import Operation, Path, Skeleton

OBJECTS = "objects"
KINDS = "kinds"
INDEX = "index"
INDEXES = ("attached", "children", "limited", "parents", "referrers", "selectors", "targeted")

Entries = list[tuple[Path, Any]]  # an object's part of the index: path below `index`, and the value there


class _Known(NamedTuple):
    version: str
    essence: int
    paths: tuple[Path, ...]  # below `index`


class Documents:
    """Plans the writes of objects with their links, and knows key, version and index paths of each that OPA holds."""

    def __init__(self) -> None:
        self._known: dict[Key, _Known] = {}
        self._bytes = 0
        self._skeleton = Skeleton(frozenset({(OBJECTS,), (INDEX,), *((INDEX, name) for name in INDEXES)}))

    def __len__(self) -> int:
        return len(self._known)

    @property
    def planned(self) -> int:
        """The number of operations that are planned."""
        return self._skeleton.planned

    @property
    def planned_bytes(self) -> int:
        """About the size of the objects that are planned, as JSON."""
        return self._bytes

    def begin(self) -> None:
        """Plan empty roots, which replace whatever OPA has there."""
        self._skeleton.begin({OBJECTS: {}, INDEX: {name: {} for name in INDEXES}})
        self._known.clear()

    def keys_of(self, type_id: str) -> set[Key]:
        """The keys of all objects of one type (`<group>/<Kind>`)."""
        return {key for key in self._known if key.type_id == type_id}

    def version(self, key: Key) -> str | None:
        """The resourceVersion that was written of an object; None where OPA has no such object."""
        known = self._known.get(key)
        return known.version if known else None

    def essence(self, key: Key) -> int | None:
        """The essence that was written of an object; None where OPA has no such object."""
        known = self._known.get(key)
        return known.essence if known else None

    def index_paths(self, key: Key) -> tuple[Path, ...]:
        """Where in the index an object stands."""
        known = self._known.get(key)
        return known.paths if known else ()

    def put(self, key: Key, obj: Object, entries: Entries) -> None:
        """Plan an object with its part of the index, in place of what it had there."""
        known = self._known.get(key)
        text = str(key)
        paths = tuple(path for path, _ in entries)
        if known:
            for path in set(known.paths).difference(paths):
                self._skeleton.remove((INDEX, *path, text))
        self._skeleton.put((OBJECTS, *_place(key)), obj)
        for path, value in entries:
            self._skeleton.put((INDEX, *path, text), value)
        declared = _declared(obj)
        self._bytes += len(declared) + 100 * len(entries)
        self._known[key] = _Known(obj["metadata"].get("resourceVersion", ""), hash(declared), paths)

    def remove(self, key: Key) -> None:
        """Plan that OPA holds nothing of an object."""
        known = self._known.pop(key, None)
        if known:
            self._skeleton.remove((OBJECTS, *_place(key)))
            text = str(key)
            for path in known.paths:
                self._skeleton.remove((INDEX, *path, text))

    def put_kinds(self, kinds: dict[str, Any]) -> None:
        """Plan the policy kinds in force."""
        self._skeleton.put((KINDS,), kinds)

    def take_plan(self) -> list[Operation]:
        """The JSON Patch of all that was planned since the last call."""
        self._bytes = 0
        return self._skeleton.take_plan()


def essence(obj: Object) -> int:
    """A number that differs when more than an object's status differs: what is declared, not what is reported."""
    return hash(_declared(obj))


def _declared(obj: Object) -> bytes:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    declared = {name: value for name, value in obj.items() if name != "status"}
    return msgspec.json.encode({**declared, "metadata": metadata}, order="deterministic")


def entries_of(raw: list[dict[str, Any]]) -> Entries:
    """The answer of the query `links` for one object as index entries."""
    # The same keys stand in the paths of many objects: each is kept once.
    return [(tuple(map(sys.intern, entry["path"])), entry["value"]) for entry in raw]


def _place(key: Key) -> Path:
    return (key.group, key.kind, key.namespace, key.name)
