"""The last known hierarchy with its policies, object by object, and the nodes that a change affects.

The query `picture` returns the entry of each object; this module combines them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from bridge.model.keys import is_key, parse_key

Node = dict[str, Any]


class PagePicture:
    """Nodes by key, from the entries of objects.

    An edge belongs to the object that declares it: as a parent of one of its nodes, or in their `leadsTo`.
    """

    def __init__(self) -> None:
        self.total = 0  # number of shown nodes
        self._nodes: dict[str, Node] = {}
        self._nodes_of: dict[str, tuple[str, ...]] = {}  # by object
        self._alone: set[str] = set()  # objects that are shown even without an edge
        self._shown: dict[str, int] = {}  # by shown object, the number of its nodes
        # The other ends of edges: children that name a node as their parent, and nodes that lead to a node.
        self._below: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._above: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def __contains__(self, object_key: str) -> bool:
        return object_key in self._nodes_of

    @property
    def objects(self) -> Iterable[str]:
        """Return the objects with entries."""
        return self._nodes_of.keys()

    def set_entry(self, object_key: str, entry: Mapping[str, Any] | None) -> set[str]:
        """Set the entry of an object, None if it has no place (anymore); return the changed nodes."""
        before = {key: self._nodes[key] for key in self._nodes_of.get(object_key, ())}
        after = _nodes(object_key, entry) if entry else {}
        differing = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        concerned = set(differing)
        for key in differing:
            concerned |= self._relink(key, before.get(key), after.get(key))
        if after:
            self._nodes_of[object_key] = tuple(after)
        else:
            self._nodes_of.pop(object_key, None)
        if entry and entry["alone"]:
            self._alone.add(object_key)
        else:
            self._alone.discard(object_key)
        for name in {object_key, *(object_of(key) for key in concerned)}:
            self.total -= self._shown.pop(name, 0)
            if name in self._nodes_of and self._is_shown(name):
                self._shown[name] = len(self._nodes_of[name])
                self.total += self._shown[name]
        return concerned

    def missing(self, keys: Iterable[str]) -> set[str]:
        """Return the objects without entries that edges of these nodes end at."""
        return {name for name in self._led_to(keys) if name not in self._nodes_of}

    def beside(self, objects: Iterable[str]) -> set[str]:
        """Return the objects that edges of these objects end at."""
        return self._led_to(key for name in objects for key in self._nodes_of.get(name, ()))

    def node_of(self, key: str) -> Node | None:
        """Return one node for clients, None if it is not shown."""
        node = self._nodes.get(key)
        if node is None or node["object"] not in self._shown:
            return None
        parts = parse_key(key)
        return {
            "level": node["level"],
            "group": parts.group,
            "kind": parts.kind,
            "namespace": parts.namespace,
            "name": parts.name,
            "section": parts.section,
            "role": parts.role,
            "parents": node["parents"],
            "leadsTo": node["leadsTo"],
            "parameters": node.get("parameters", ""),
            "hostnames": node.get("hostnames", []),
            "created": node.get("created", ""),
            "children": len({*node["leadsTo"], *self._below.get(key, ())}),
            "policies": node["policies"],
            "refused": node["refused"],
            "problems": node["problems"],
        }

    def shown(self) -> Iterator[str]:
        """Return the keys of all shown nodes."""
        for name in self._shown:
            yield from self._nodes_of[name]

    def top(self, limit: int) -> list[str]:
        """Return at most `limit` shown nodes, from the top down: all children of a node or none."""
        if self.total <= limit:
            return list(self.shown())
        taken = dict.fromkeys(sorted(key for key in self.shown() if not self._parents(key))[:limit])
        upcoming = list(taken)
        for key in upcoming:  # it grows
            further = [child for child in self._children(key) if child not in taken]
            if len(taken) + len(further) <= limit:
                taken.update(dict.fromkeys(further))
                upcoming += further
        return list(taken)

    def _children(self, key: str) -> list[str]:
        own = self._nodes[key]["leadsTo"]
        return [child for child in dict.fromkeys((*own, *self._below.get(key, ()))) if child in self._nodes]

    def _parents(self, key: str) -> list[str]:
        """Return the nodes above a node, whichever side declares the edge."""
        own = self._nodes[key]["parents"]
        return [parent for parent in (*own, *self._above.get(key, ())) if parent in self._nodes]

    def _relink(self, key: str, before: Node | None, after: Node | None) -> set[str]:
        """Replace one node by another; return the ends of added and removed edges."""
        gone, come = self._edges(before), self._edges(after)
        for kind, other in gone - come:
            ends = self._below if kind == "parents" else self._above
            ends[other].pop(key)
            if not ends[other]:
                del ends[other]
        for kind, other in come - gone:
            ends = self._below if kind == "parents" else self._above
            ends[other][key] = None
        if after is None:
            del self._nodes[key]
        else:
            self._nodes[key] = after
        return {other for _, other in gone ^ come}

    def _led_to(self, keys: Iterable[str]) -> set[str]:
        return {object_of(end) for key in keys if key in self._nodes for end in self._ends(self._nodes[key])}

    @staticmethod
    def _edges(node: Node | None) -> set[tuple[str, str]]:
        if node is None:
            return set()
        return {(kind, other) for kind in ("parents", "leadsTo") for other in node[kind]}

    @staticmethod
    def _ends(node: Node) -> Iterator[str]:
        yield from node["parents"]
        yield from node["leadsTo"]

    def _is_shown(self, object_key: str) -> bool:
        if object_key in self._alone:
            return True
        for key in self._nodes_of.get(object_key, ()):
            node = self._nodes[key]
            if node["policies"] or any(object_of(end) != object_key for end in self._ends(node)):
                return True
            if any(object_of(end) != object_key for end in (*self._below.get(key, ()), *self._above.get(key, ()))):
                return True
        return False


def sound(entry: Mapping[str, Any]) -> tuple[Mapping[str, Any], set[str]]:
    """Return the valid part of an object's entry, and the names in the rest that are not keys."""
    named = {*entry["nodes"], *chain.from_iterable(entry["edges"])}
    named.update(one["policy"] for node in entry["nodes"].values() for one in node["policies"])
    named.update(end for link in entry["refused"] for end in (link["parent"], link["child"]))
    wrong = {name for name in named if not is_key(name)}
    if not wrong:
        return entry, wrong
    nodes = {
        key: {**node, "policies": [one for one in node["policies"] if one["policy"] not in wrong]}
        for key, node in entry["nodes"].items()
        if key not in wrong
    }
    edges = [edge for edge in entry["edges"] if wrong.isdisjoint(edge)]
    refused = [link for link in entry["refused"] if wrong.isdisjoint((link["parent"], link["child"]))]
    problems = [one for one in entry["problems"] if one["about"] not in wrong]
    return {**entry, "nodes": nodes, "edges": edges, "refused": refused, "problems": problems}, wrong


def object_of(key: str) -> str:
    """Return the object of a node's key."""
    return key.partition("@")[0].partition("#")[0]


def _nodes(object_key: str, entry: Mapping[str, Any]) -> dict[str, Node]:
    nodes: dict[str, Node] = {
        key: {**node, "object": object_key, "parents": [], "leadsTo": [], "refused": [], "problems": []}
        for key, node in entry["nodes"].items()
    }
    for parent, child in entry["edges"]:
        if child in nodes:
            nodes[child]["parents"].append(parent)
        elif parent in nodes:
            nodes[parent]["leadsTo"].append(child)
    if object_key in nodes:
        nodes[object_key]["refused"] = entry["refused"]
        nodes[object_key]["problems"] = entry["problems"]
        nodes[object_key]["created"] = entry["created"]
    return nodes
