"""The places of entries of `data.index`, and the JSON Patch operations for their changes.

An entry is a path that the query `links` returns (`[part, key…]`) and the key of the object that declares it; it is
stored at both ends of the link. In the parts with entries of nearly every object, it is below the home
(`<group>/<Kind>/<namespace>`) of the key and below that of its declarer, so a namespace becomes a few large values in
OPA; an object's declarations about itself have a separate part. `data.bridge.index` reads it.
`docs/reference/documents.md` lists the fields of links with their entries. `rego/bridge/index/entries.rego` makes the
same entries of the objects that a query changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from sys import intern
from typing import Any, NamedTuple

import msgspec

from bridge.opa.address import pointer

Path = tuple[str, ...]  # from the root of OPA's data
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
            self._root[name] = self._begun(value)
            self._operations.append({"op": "add", "path": pointer(name), "value": value})

    def _begun(self, value: dict[str, Any]) -> _Node:
        node = {name: self._begun(below) for name, below in value.items()}
        self._fresh[id(node)] = (node, value)
        return node

    def adopt(self, path: Path, *, whole: bool = True) -> None:
        """Note that a document is at `path` (or, if not `whole`, one with members that may be changed)."""
        node = self._root
        for name in path[:-1]:
            node = node.setdefault(name, {})
        node[path[-1]] = None if whole else {}

    def put(self, path: Path, value: Any) -> None:
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
            return OWN, part, _home(end), end
        return part, _home(end), end, _home(declarer), declarer
    if part in _HOME_OF_DECLARER:
        return part, end, _home(declarer), *path[2:], declarer
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


def part_of(path: Path, declarer: str) -> str:
    """Return the part of the index of the entry."""
    return OWN if path[0] in _BOTH_HOMES and path[1] == declarer else path[0]


def _home(key: str) -> str:
    return intern("/".join(key.split("/", 3)[:3]))


Entries = list[tuple[Path, Any]]  # the path of an entry: the part of the index, then keys; and the value
NO_FACTS = b""
_Edge = tuple[str, str]  # the keys of parent and child
_CLUSTER = "-"  # the namespace of a cluster-scoped object in its key


class Links(NamedTuple):
    """The stored data of an object besides the object: its entries in the index, and its facts as JSON."""

    entries: Entries
    facts: bytes = NO_FACTS


NO_LINKS = Links([])


class _Stamped(msgspec.Struct):
    by: str = ""


def links_of(key: str, links: Mapping[str, Any]) -> Links:
    """Return the stored data of an object from its result of the query `links`."""
    return Links(entries_of(key, links), msgspec.json.encode(links["facts"]) if "facts" in links else NO_FACTS)


def stamp_of(facts: bytes) -> str:
    """Return the inputs of facts besides the object, as they state them; empty if there are none."""
    return msgspec.json.decode(facts, type=_Stamped).by if facts else ""


def entries_of(key: str, links: Mapping[str, Any]) -> Entries:
    """Return the entries of an object from its result of the query `links`, one for each path.

    `key` is the object's key. The keys in paths and values are interned, because many objects share them. An entry with
    an empty name is omitted: no query reads it, and OPA would ignore the name at the end of a path.
    """
    key = intern(key)
    edges = _edges(key, links)
    entries: dict[Path, Any] = {}
    for side, part in ((0, "children"), (1, "parents")):
        entries |= {(part, end): others for end, others in _by_end(edges, side).items()}
    extended = {(parent, child) for parent, child in links.get("extended", ())}
    entries |= {("extended", child): parents for child, parents in _by_end(extended, 1).items()}
    for member in links.get("members", ()):
        entries.setdefault(("members", intern(_namespace(member))), []).append(intern(member))
    entries |= dict.fromkeys(_served(links), True)
    entries |= dict.fromkeys(_claims(links), True)
    outer = {_namespace(end) for edge in edges for end in edge}
    if oversized := links.get("oversized"):
        entries |= {("oversized", intern(end)): oversized["message"] for end in oversized["objects"]}
    else:
        targets = links.get("targets", ())
        outer.update(map(_namespace, targets))
        entries |= dict.fromkeys(_targets(key, targets, links), True)
    entries |= {("referrers", intern(namespace)): True for namespace in outer - {_CLUSTER, _namespace(key)}}
    return [(path, value) for path, value in entries.items() if all(path)]


def _edges(key: str, links: Mapping[str, Any]) -> set[_Edge]:
    edges = {(intern(parent), key) for parent in links.get("above", ())}
    edges.update((key, intern(child)) for child in links.get("below", ()))
    edges.update((intern(_whole(parent)), intern(child)) for parent, child in links.get("extended", ()))
    return edges


def _by_end(edges: Iterable[_Edge], side: int) -> dict[str, list[str]]:
    """Group the other ends, sorted, by the end at this side of the edges."""
    found: dict[str, list[str]] = {}
    for edge in sorted(edges):
        found.setdefault(intern(edge[side]), []).append(intern(edge[1 - side]))
    return found


def _served(links: Mapping[str, Any]) -> Iterator[Path]:
    if served := links.get("served"):
        for parent in links.get("above", ()):
            for hostname in served["hostnames"]:
                for path in served["paths"]:
                    yield "served", intern(parent), intern(hostname), intern(path)


def _claims(links: Mapping[str, Any]) -> Iterator[Path]:
    for port, slot in links.get("claims", ()):
        for parent in links.get("above", ()):
            yield "claims", intern(parent), intern(port), intern(slot)


def _targets(key: str, targets: Iterable[str], links: Mapping[str, Any]) -> Iterator[Path]:
    type_id = intern("/".join(key.split("/", 2)[:2]))
    for target in targets:
        yield "attached", type_id, intern(target)
        yield "targeted", intern(_whole(target))
    if links.get("classes"):
        yield "limited", type_id
    for namespace, selected, text in links.get("selectors", ()):
        yield "selecting", type_id
        yield "selectors", intern(namespace), intern(selected), text


def _namespace(key: str) -> str:
    return key.split("/", 3)[2]


def _whole(node: str) -> str:
    return node.partition("#")[0]
