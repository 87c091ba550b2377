"""The replicator's documents in OPA, and the writes for one change of an object, as JSON Patch operations.

An entry of `data.index` is a path that the query `links` returns (`[part, key…]`) and the key of the object that
declares it. In the parts with entries of nearly every object, it is stored below the home of the key
(`<group>/<Kind>/<namespace>`) and below that of its declarer, so a namespace becomes a few large values in OPA; an
object's declarations about itself have a separate part. `docs/appendix/documents.md` shows it, and `data.bridge.index`
reads it.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from bridge.model.changes import Object
from bridge.model.keys import Key, pointer

Path = tuple[str, ...]  # from the root of OPA's data, or below `index`
Operation = dict[str, Any]  # of a JSON Patch (RFC 6902)
_Node = dict[str, Any]  # name -> _Node, or None for a document that was written as a whole
_ABSENT = object()


class Skeleton:
    """Plans writes below `data` as JSON Patch operations, and remembers their result.

    JSON Patch requires the parent of an added value to exist. A document that is new to OPA is added with all its
    planned contents, as one operation with a large value; one that loses its last member is removed with it, down to
    `floors`, which stay even if empty.
    """

    def __init__(self, floors: frozenset[Path]) -> None:
        self._root: _Node = {}
        self._floors = floors
        self._operations: list[Operation] = []
        # By the id of a node of this plan, the node (which keeps its id in use) and its value in the plan.
        self._fresh: dict[int, tuple[_Node, dict[str, Any]]] = {}
        self._former: list[tuple[dict[Any, Any], Any, Any]] = []  # members before the plan's changes, in their order

    @property
    def planned(self) -> int:
        """Return the number of planned operations."""
        return len(self._operations)

    def begin(self, roots: dict[str, dict[str, Any]]) -> None:
        """Plan `roots` (name to nested mappings), replacing the values at those names."""
        self._former.clear()
        for name, value in roots.items():
            self._root[name] = self._plan_root(value)
            self._operations.append({"op": "add", "path": pointer(name), "value": value})

    def _plan_root(self, value: dict[str, Any]) -> _Node:
        node = {name: self._plan_root(below) for name, below in value.items()}
        self._fresh[id(node)] = (node, value)
        return node

    def adopt(self, path: Path, *, whole: bool = True) -> None:
        """Note that a document is at `path` (or, if not `whole`, one with members that may be changed)."""
        node = self._root
        for name in path[:-1]:
            node = node.setdefault(name, {})
        node[path[-1]] = None if whole else {}

    def plan(self, path: Path, value: Any) -> None:
        """Plan a document at `path`, replacing the previous one."""
        node = self._root
        for depth, name in enumerate(path[:-1]):
            below = node.get(name)
            if below is None:
                below = {}
                self._set(node, name, below)
                members: dict[str, Any] = {}
                self._fresh[id(below)] = (below, members)
                self._add(node, path[: depth + 1], members)
            node = below
        self._set(node, path[-1], None)
        self._add(node, path, value)

    def remove(self, path: Path) -> None:
        """Plan the removal of the document at `path`, which must have been put before."""
        nodes = [self._root]
        for name in path[:-1]:
            nodes.append(nodes[-1][name])
        depth = len(path)
        self._set(nodes[-1], path[-1], _ABSENT)
        while depth > 1 and not nodes[depth - 1] and path[: depth - 1] not in self._floors:
            depth -= 1
            self._set(nodes[depth - 1], path[depth - 1], _ABSENT)
        fresh = self._fresh.get(id(nodes[depth - 1]))
        if fresh:
            del fresh[1][path[depth - 1]]
        else:
            self._operations.append({"op": "remove", "path": pointer(*path[:depth])})

    def take_plan(self) -> list[Operation]:
        """Return the operations planned since the last call, in the order of their application.

        Afterwards, `confirm` or `undo` it.
        """
        operations, self._operations = self._operations, []
        self._fresh.clear()
        return operations

    def confirm(self) -> None:
        """Note that OPA has the plan."""
        self._former.clear()

    def undo(self) -> None:
        """Note that OPA does not have the plan, which did not `begin`."""
        while self._former:
            _restore(*self._former.pop())

    def remember(self, mapping: dict[Any, Any], name: Any) -> None:
        """Restore a member of any mapping, which the plan is about to change, if the plan is undone."""
        self._former.append((mapping, name, mapping.get(name, _ABSENT)))

    def _set(self, node: _Node, name: str, value: Any) -> None:
        self.remember(node, name)
        _restore(node, name, value)

    def _add(self, node: _Node, path: Path, value: Any) -> None:
        fresh = self._fresh.get(id(node))
        if fresh:
            fresh[1][path[-1]] = value
        else:
            self._operations.append({"op": "add", "path": pointer(*path), "value": value})


def _restore(node: dict[Any, Any], name: Any, value: Any) -> None:
    if value is _ABSENT:
        node.pop(name, None)
    else:
        node[name] = value


OWN = "own"
_BOTH_HOMES = {"children", "parents"}
_HOME_OF_DECLARER = {"referrers", "served"}


def place_of(path: Path, declarer: str) -> Path:
    """Return the place of the entry below `index`."""
    part, end = path[0], path[1]
    if part in _BOTH_HOMES:
        if end == declarer:
            return OWN, part, _find_home(end), end
        return part, _find_home(end), end, _find_home(declarer), declarer
    if part in _HOME_OF_DECLARER:
        return part, end, _find_home(declarer), *path[2:], declarer
    return *path, declarer


def entry_at(place: Path) -> tuple[Path, str]:
    """Return the path and the declarer of the entry at this place."""
    part, declarer = place[0], place[-1]
    if part == OWN:
        return (place[1], declarer), declarer
    if part in _BOTH_HOMES:
        return (part, place[2]), declarer
    if part in _HOME_OF_DECLARER:
        return (part, place[1], *place[3:-1]), declarer
    return place[:-1], declarer


def _find_home(key: str) -> str:
    return sys.intern("/".join(key.split("/", 3)[:3]))


NO_FACTS = b""
Entries = list[tuple[Path, Any]]  # the path of an entry: the part of the index, then keys; and the value


class Links(NamedTuple):
    """The stored data of an object besides the object: its entries in the index, and its facts as JSON."""

    entries: Entries
    facts: bytes = NO_FACTS


NO_LINKS = Links([])


class _Stamped(msgspec.Struct):
    by: str = ""


def links_of(found: Mapping[str, Any]) -> Links:
    """Return the stored data of an object from its result of the query `links`.

    Keys are interned, because many objects share them. An entry with an empty name is omitted: no query reads it, and
    OPA would ignore the name at the end of a path.
    """
    entries = [
        (tuple(map(sys.intern, entry["path"])), list(map(sys.intern, value)) if isinstance(value, list) else value)
        for entry in found["entries"]
        for value in [entry["value"]]
        if all(entry["path"])
    ]
    return Links(entries, msgspec.json.encode(found["facts"]) if "facts" in found else NO_FACTS)


def stamp_of(facts: bytes) -> str:
    """Return the inputs of facts besides the object, as they state them; empty if there are none."""
    return msgspec.json.decode(facts, type=_Stamped).by if facts else ""


T = TypeVar("T")
OBJECTS = "objects"
FACTS = "facts"
INDEX = "index"
INDEXES = (
    "attached",
    "bindings",
    "bound",
    "children",
    "claims",
    "extended",
    "limited",
    "members",
    "oversized",
    OWN,
    "parents",
    "referrers",
    "selecting",
    "selectors",
    "served",
    "targeted",
)


Held = dict[str, dict[str, dict[str, dict[str, str]]]]  # versions by group, Kind, namespace and name
Facts = dict[str, dict[str, dict[str, dict[str, Any]]]]  # the document `facts`, by the same
Index = dict[str, Any]  # the document `index`: parts of it are deeper than others


class Known(NamedTuple):
    """What OPA has of an object."""

    version: str
    api_version: str  # "": written by an earlier bridge
    essence: int | None  # None: the same
    paths: tuple[Path, ...]  # in the index
    values: tuple[Any, ...] = ()  # at these paths; none for adopted objects
    made_from: int | None = None  # a hash of the fields that links read; None: unknown
    facts: bytes = NO_FACTS  # as JSON


_NOT_THERE = Known("", "", None, ())
_OWN = object()  # in place of the most frequent value, a list of only the object's own key


class Difference(NamedTuple):
    """The differences between OPA and the written state: missing, extra, and changed objects of one type."""

    type_id: str
    missing: int
    foreign: int
    other: int


_FLOORS: frozenset[Path] = frozenset({(OBJECTS,), (FACTS,), (INDEX,), *((INDEX, name) for name in INDEXES)})


class Documents:
    """Plans the writes of objects with their links, and knows key, version and index paths of each object in OPA."""

    def __init__(self) -> None:
        self._known: dict[Key, Known] = {}
        self._paths: dict[Path, Path] | None = {}  # each once, because many objects share them in a full sync
        self._former: dict[Key, Known] = {}  # like `_known`, from before `begin`
        self.planned_bytes = 0  # the approximate size of the planned objects, as JSON
        self._skeleton = Skeleton(_FLOORS)
        self.counts: Counter[str] = Counter()  # objects by type (`<group>/<Kind>`)
        self.declared_in_status: frozenset[str] = frozenset()  # types whose status is read, too

    def __iter__(self) -> Iterator[Key]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    @property
    def planned(self) -> int:
        """Return the number of planned operations."""
        return self._skeleton.planned

    def begin(self) -> None:
        """Plan empty roots, which replace all of OPA's data. Written links are remembered until `finish`."""
        self._skeleton.begin({OBJECTS: {}, FACTS: {}, INDEX: {name: {} for name in INDEXES}})
        self._former.update(self._known)
        self._known.clear()
        self.counts.clear()
        self._paths = {}

    def finish(self) -> None:
        """Forget the links of objects that have not been put since `begin`."""
        self._former.clear()
        self._paths = None

    def adopt(self, held: Held, index: Index, facts: Facts, *, linked: bool = True) -> None:
        """Take OPA's data as written, and plan the removal of index entries and facts of missing objects.

        Unless their links are `linked` correctly, objects count as of an unknown version.
        """
        self._known.clear()
        self.counts.clear()
        self._former.clear()
        self._skeleton = Skeleton(_FLOORS)
        self._skeleton.adopt((OBJECTS,), whole=False)
        self._skeleton.adopt((FACTS,), whole=False)
        self._skeleton.adopt((INDEX,), whole=False)
        for name in INDEXES:
            self._skeleton.adopt((INDEX, name), whole=False)
        paths: dict[str, list[Path]] = {}
        for place in _iterate_leaves(index):
            self._skeleton.adopt((INDEX, *place))
            path, declarer = entry_at(place)
            paths.setdefault(declarer, []).append(path)
        stored = dict(_iterate(facts))
        for key in stored:
            self._skeleton.adopt((FACTS, *_place(key)))
        for key, version in _iterate(held):
            self._skeleton.adopt((OBJECTS, *_place(key)))
            own = tuple(paths.pop(str(key), ()))
            text = msgspec.json.encode(stored.pop(key)) if key in stored else NO_FACTS
            self._known[key] = Known(version if linked else "", "", None, own, facts=text)
            self.counts[key.type_id] += 1
        for key in stored:
            self._skeleton.remove((FACTS, *_place(key)))
        for declarer, left in paths.items():
            for path in left:
                self._skeleton.remove((INDEX, *place_of(path, declarer)))

    def differences(self, held: Held) -> list[Difference]:
        """Return the differences between OPA's objects and versions and the written ones."""
        found = dict(_iterate(held))
        counts: dict[str, list[int]] = {}
        for key in self._known.keys() - found.keys():
            counts.setdefault(key.type_id, [0, 0, 0])[0] += 1
        for key in found.keys() - self._known.keys():
            counts.setdefault(key.type_id, [0, 0, 0])[1] += 1
        for key in found.keys() & self._known.keys():
            if found[key] != self._known[key].version:
                counts.setdefault(key.type_id, [0, 0, 0])[2] += 1
        return [Difference(type_id, *counts[type_id]) for type_id in sorted(counts)]

    def count_links(self) -> dict[str, int]:
        """Return the number of entries in each part of the index."""
        counts = dict.fromkeys(INDEXES, 0)
        for key, known in self._known.items():
            text = str(key)
            for path in known.paths:
                counts[place_of(path, text)[0]] += 1
        return counts

    def record_essence(self, key: Key, obj: Object) -> None:
        """Note the essence of an adopted object."""
        known = self._known[key]
        if known.essence is None:
            essence = hash(self._encode_declared(key, obj))
            self._known[key] = known._replace(essence=essence, api_version=obj["apiVersion"])

    def keys_of(self, type_id: str) -> set[Key]:
        """Return the keys of all objects of one type (`<group>/<Kind>`)."""
        return {key for key in self._known if key.type_id == type_id}

    def types(self) -> set[str]:
        """Return the types (`<group>/<Kind>`) of OPA's objects."""
        return {type_id for type_id, count in self.counts.items() if count}

    def known(self, key: Key) -> Known:
        """Return what OPA has of an object; empty values if it has no such object."""
        return self._known.get(key, _NOT_THERE)

    def has(self, key: Key, obj: Object) -> bool:
        """Return whether this version of an object was written; False for one without versions."""
        known = self.known(key)
        same = known.api_version in {"", obj["apiVersion"]}  # the CRD's next version may have other fields
        return same and bool(known.version) and known.version == obj["metadata"].get("resourceVersion")

    def made_from(self, key: Key) -> int | None:
        """Return the hash of the fields that an object's links were made from; None if unknown."""
        known = self._known.get(key) or self._former.get(key)
        return known.made_from if known else None

    def plan_object(self, key: Key, obj: Object, links: Links | None, made_from: int | None = None) -> None:
        """Plan an object with its part of the index and its facts, replacing previous ones.

        Without links it keeps the last written ones. `made_from` is a hash of the fields that links read.
        """
        self._remember(key)
        text = sys.intern(str(key))
        known = self._known.get(key)
        last = known or self._former.pop(key, _NOT_THERE)
        if links is None:
            paths, values, facts = last.paths, last.values, last.facts
        else:
            paths = tuple(self._share(path) for path, _ in links.entries)
            values = tuple(_OWN if value == [text] else value for _, value in links.entries)
            facts = links.facts
        self._skeleton.plan((OBJECTS, *_place(key)), obj)
        self._put_facts(key, known.facts if known else NO_FACTS, facts)
        if links is not None or not known:
            for path in set(known.paths if known else ()).difference(paths):
                self._skeleton.remove((INDEX, *place_of(path, text)))
            for path, value in zip(paths, values, strict=True):
                self._skeleton.plan((INDEX, *place_of(path, text)), [text] if value is _OWN else value)
            self.planned_bytes += 100 * len(paths)
        declared = self._encode_declared(key, obj)
        self.planned_bytes += len(declared)
        versions = obj["metadata"].get("resourceVersion", ""), sys.intern(obj["apiVersion"])
        if not known:
            self.counts[key.type_id] += 1
        self._known[key] = Known(*versions, hash(declared), paths, values, made_from, facts)

    def find_outdated(self, stamps: Mapping[str, str]) -> list[Key]:
        """Return the objects whose facts have other inputs than the `stamps` of their types (`<group>/<Kind>`)."""
        return [key for key, known in self._known.items() if stamp_of(known.facts) != stamps.get(key.type_id, "")]

    def plan_links(self, key: Key, links: Links) -> None:
        """Plan the facts of an object, replacing previous ones, and the missing entries in the index."""
        self._remember(key)
        known = self._known[key]
        self._put_facts(key, known.facts, links.facts)
        text = sys.intern(str(key))
        before = dict(zip(known.paths, known.values, strict=False))  # of one that was adopted the values are not known
        entries = {self._share(path): _OWN if value == [text] else value for path, value in links.entries}
        for path in set(known.paths).difference(entries):
            self._skeleton.remove((INDEX, *place_of(path, text)))
        for path, value in entries.items():
            if path not in before or before[path] != value:
                self._skeleton.plan((INDEX, *place_of(path, text)), [text] if value is _OWN else value)
        self._known[key] = known._replace(paths=tuple(entries), values=tuple(entries.values()), facts=links.facts)

    def repair_facts(self, key: Key, facts: bytes) -> None:
        """Plan the facts of an object, whatever OPA has."""
        place = (FACTS, *_place(key))
        if facts:
            self._skeleton.plan(place, msgspec.Raw(facts))
        else:
            self._skeleton.adopt(place)
            self._skeleton.remove(place)
        self._known[key] = self._known[key]._replace(facts=facts)

    def remove(self, key: Key) -> None:
        """Plan the removal of an object."""
        self._remember(key)
        known = self._known.pop(key, None)
        if known:
            self.counts[key.type_id] -= 1
            self._skeleton.remove((OBJECTS, *_place(key)))
            self._put_facts(key, known.facts, NO_FACTS)
            text = str(key)
            for path in known.paths:
                self._skeleton.remove((INDEX, *place_of(path, text)))

    def _put_facts(self, key: Key, before: bytes, facts: bytes) -> None:
        if facts == before:
            return
        if facts:
            self._skeleton.plan((FACTS, *_place(key)), msgspec.Raw(facts))
            self.planned_bytes += len(facts)
        else:
            self._skeleton.remove((FACTS, *_place(key)))

    def _share(self, path: Path) -> Path:
        return path if self._paths is None else self._paths.setdefault(path, path)

    def plan_kinds(self, documents: dict[str, Any]) -> None:
        """Plan the documents of the active policy kinds, by name."""
        for name, document in documents.items():
            self._skeleton.plan((name,), document)

    def take_plan(self) -> list[Operation]:
        """Return the JSON Patch of everything planned since the last call. Afterwards, `confirm` or `undo` it."""
        self.planned_bytes = 0
        return self._skeleton.take_plan()

    def confirm(self) -> None:
        """Note that OPA has the plan."""
        self._skeleton.confirm()

    def undo(self) -> None:
        """Note that OPA refused the plan, which did not `begin`: it has what it had before."""
        self._skeleton.undo()

    def _encode_declared(self, key: Key, obj: Object) -> bytes:
        """Return an object without its status: its declarations, not its reports, unless these are read, too."""
        metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
        reports = () if key.type_id in self.declared_in_status else ("status",)
        declared = {name: value for name, value in obj.items() if name not in reports}
        return msgspec.json.encode({**declared, "metadata": metadata}, order="deterministic")

    def _remember(self, key: Key) -> None:
        self._skeleton.remember(self._known, key)
        self._skeleton.remember(self._former, key)
        self._skeleton.remember(self.counts, key.type_id)


def _iterate(held: Mapping[str, Mapping[str, Mapping[str, Mapping[str, T]]]]) -> Iterator[tuple[Key, T]]:
    for group, kinds in held.items():
        for kind, namespaces in kinds.items():
            for namespace, names in namespaces.items():
                for name, value in names.items():
                    yield Key(group, kind, namespace, name), value


def _iterate_leaves(index: Index, above: Path = ()) -> Iterator[Path]:
    for name, value in index.items():
        if isinstance(value, dict):
            yield from _iterate_leaves(value, (*above, name))
        else:
            yield *above, name


def _place(key: Key) -> Path:
    return (key.group, key.kind, key.namespace, key.name)
