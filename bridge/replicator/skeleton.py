"""The skeleton of what OPA holds: which documents are there, so that a change becomes few JSON Patch operations."""

from __future__ import annotations

from typing import Any

from bridge.opa.paths import pointer

Path = tuple[str, ...]  # from the root of OPA's data
Operation = dict[str, Any]  # of a JSON Patch (RFC 6902)
_Node = dict[str, Any]  # name -> _Node, or None for a document that was written whole


class Skeleton:
    """Plans writes below `data` as JSON Patch operations, and remembers what they leave there.

    JSON Patch wants the parent of what it adds to exist. A document that is new to OPA is added with all that this plan
    puts into it, as one operation with a large value; one that loses its last member is removed with it, down to
    `floors`, which stay though they be empty.
    """

    def __init__(self, floors: frozenset[Path]) -> None:
        self._root: _Node = {}
        self._floors = floors
        self._operations: list[Operation] = []
        # By the id of a node that this plan made, the node (so that the id stays its own) and its value in the plan.
        self._fresh: dict[int, tuple[_Node, dict[str, Any]]] = {}

    @property
    def planned(self) -> int:
        """The number of operations that are planned."""
        return len(self._operations)

    def begin(self, roots: dict[str, dict[str, Any]]) -> None:
        """Plan `roots` (name to nested mappings) in place of whatever is at those names."""
        for name, value in roots.items():
            self._root[name] = self._begun(value)
            self._operations.append({"op": "add", "path": pointer(name), "value": value})

    def _begun(self, value: dict[str, Any]) -> _Node:
        node = {name: self._begun(below) for name, below in value.items()}
        self._fresh[id(node)] = (node, value)
        return node

    def adopt(self, path: Path, *, whole: bool = True) -> None:
        """Take for known that a document is at `path` (or, if not `whole`, one with members that may be changed)."""
        node = self._root
        for name in path[:-1]:
            node = node.setdefault(name, {})
        node[path[-1]] = None if whole else {}

    def put(self, path: Path, value: Any) -> None:
        """Plan a document at `path`, in place of what is there."""
        node = self._root
        for depth, name in enumerate(path[:-1]):
            below = node.get(name)
            if below is None:
                below = node[name] = {}
                members: dict[str, Any] = {}
                self._fresh[id(below)] = (below, members)
                self._add(node, path[: depth + 1], members)
            node = below
        node[path[-1]] = None
        self._add(node, path, value)

    def remove(self, path: Path) -> None:
        """Plan that nothing is at `path`, which must have been put before."""
        nodes = [self._root]
        for name in path[:-1]:
            nodes.append(nodes[-1][name])
        depth = len(path)
        del nodes[-1][path[-1]]
        while depth > 1 and not nodes[depth - 1] and path[: depth - 1] not in self._floors:
            depth -= 1
            del nodes[depth - 1][path[depth - 1]]
        fresh = self._fresh.get(id(nodes[depth - 1]))
        if fresh:
            del fresh[1][path[depth - 1]]
        else:
            self._operations.append({"op": "remove", "path": pointer(*path[:depth])})

    def take_plan(self) -> list[Operation]:
        """The operations planned since the last call, in the order in which they must be applied."""
        operations, self._operations = self._operations, []
        self._fresh.clear()
        return operations

    def _add(self, node: _Node, path: Path, value: Any) -> None:
        fresh = self._fresh.get(id(node))
        if fresh:
            fresh[1][path[-1]] = value
        else:
            self._operations.append({"op": "add", "path": pointer(*path), "value": value})
