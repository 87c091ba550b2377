"""Specs whose leaves know which policy set them, and RFC 7386 over them (F3, F8, O1).

A spec is a tree: a dict of trees, a Leaf, or, where a kind's `merge` says how a list is merged, Keyed or Row. Scalars,
nulls, arrays, empty objects and units are leaves (O1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.reference.objects import Node, Spec


@dataclass(frozen=True)
class Leaf:
    """A value that is taken whole, and the policy that it came from.

    `adds_nothing`: an empty object, or an empty list that would be merged if it had items. It takes nothing away.
    """

    value: Any
    policy: Node
    adds_nothing: bool = False


@dataclass(frozen=True)
class Keyed:
    """A list that is merged by the name of its items (F8, listKeys)."""

    items: dict[str, Any]  # trees


@dataclass(frozen=True)
class Row:
    """A list that others are appended to (F8, append)."""

    items: tuple[Leaf, ...]


Tree = Leaf | Keyed | Row | dict[str, Any]  # the values of the dict are trees


def annotate(value: Any, policy: Node, rules: Spec, pointer: str = "") -> Tree:
    """The spec of one policy; `rules` is the `merge` of its kind."""
    if pointer in Pattern(rules.get("units", [])):
        return Leaf(value, policy)
    if isinstance(value, dict):
        if not value:
            return Leaf(value, policy, adds_nothing=True)
        return {name: annotate(inner, policy, rules, below(pointer, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return _annotate_list(value, policy, rules, pointer)
    return Leaf(value, policy)


def _annotate_list(value: list[Any], policy: Node, rules: Spec, pointer: str) -> Tree:
    for pattern, key in rules.get("listKeys", {}).items():
        if pointer in Pattern([pattern]):
            names = [str(item[key]) for item in value if isinstance(item, dict) and key in item]
            if len(set(names)) < len(value):
                return Leaf(value, policy)
            if value:
                named = zip(names, value, strict=True)
                return Keyed({name: annotate(item, policy, rules, below(pointer, name)) for name, item in named})
            return Leaf(value, policy, adds_nothing=True)
    if pointer in Pattern(rules.get("append", [])):
        return Row(tuple(Leaf(item, policy) for item in value)) if value else Leaf(value, policy, adds_nothing=True)
    return Leaf(value, policy)


class Pattern:
    """JSON pointers in which `*` is any one name."""

    def __init__(self, pointers: list[str]) -> None:
        self._pointers = [pointer.split("/") for pointer in pointers]

    def __contains__(self, pointer: str) -> bool:
        names = pointer.split("/")
        return any(
            len(names) == len(pattern)
            and all(wanted in {"*", name} for wanted, name in zip(pattern, names, strict=True))
            for pattern in self._pointers
        )


def below(pointer: str, name: str) -> str:
    """The pointer to a field of what a pointer points to."""
    return pointer + "/" + name.replace("~", "~0").replace("/", "~1")


def patch(target: Tree, change: Tree, *, target_first: bool) -> Tree:
    """RFC 7386's MergePatch, but a null stays in the result until the end (F3).

    A whole spec that is empty sets nothing, also on another empty one (O3: "an empty patch is Overridden").
    `target_first`: the target is the established one, whose items come first where lists are appended (F8).
    """
    return target if isinstance(change, Leaf) and change.value == {} else _patch(target, change, target_first)


def _patch(target: Tree, change: Tree, target_first: bool) -> Tree:
    if isinstance(change, Leaf):
        # An empty object says nothing about an object that has fields. Where there is none, or an empty one, it is a
        # leaf that the patch sets, and an equal value set by the winner is the winner's (O2).
        return target if change.adds_nothing and _has_such(target, change.value) else change
    if isinstance(change, Row):
        if not isinstance(target, Row):
            return change
        return _appended(target, change) if target_first else _appended(change, target)
    if isinstance(change, Keyed):
        others = target.items if isinstance(target, Keyed) else {}
        merged = {
            name: _patch(others[name], item, target_first) if name in others else item
            for name, item in change.items.items()
        }
        return Keyed(merged | {name: item for name, item in others.items() if name not in merged})
    result = dict(target) if isinstance(target, dict) else {}
    for name, inner in change.items():
        result[name] = _patch(result[name], inner, target_first) if name in result else inner
    return result


def _has_such(tree: Tree, empty: Any) -> bool:
    return isinstance(tree, dict) if empty == {} else isinstance(tree, Keyed | Row)


def _appended(first: Row, second: Row) -> Row:
    """F8: "one policy's items once", where it stands at two places of a path."""
    there = {item.policy for item in first.items}
    return Row((*first.items, *(item for item in second.items if item.policy not in there)))


def plain(tree: Tree) -> Any:
    """The value of a tree, without tombstones; nulls inside arrays stay (F3)."""
    if isinstance(tree, Leaf):
        return tree.value
    if isinstance(tree, Keyed):
        return [plain(item) for item in tree.items.values()]
    if isinstance(tree, Row):
        return [item.value for item in tree.items]
    return {name: plain(inner) for name, inner in tree.items() if not (isinstance(inner, Leaf) and inner.value is None)}


def origins(tree: Tree, pointer: str = "") -> dict[str, Node]:
    """The policy of each leaf by JSON pointer into the plain value, tombstones too."""
    if isinstance(tree, Leaf):
        return {pointer: tree.policy}
    found: dict[str, Node] = {}
    for name, inner in _parts(tree, numbered=True):
        found |= origins(inner, below(pointer, name))
    return found


def leaves(tree: Tree, pointer: str = "") -> dict[str, Node]:
    """The policy of each leaf by what it is called wherever it stands: an item by its name, or by whose it is."""
    if isinstance(tree, Leaf):
        return {pointer: tree.policy}
    found: dict[str, Node] = {}
    for name, inner in _parts(tree, numbered=False):
        found |= leaves(inner, below(pointer, name))
    return found


def _parts(tree: Keyed | Row | dict[str, Any], *, numbered: bool) -> list[tuple[str, Any]]:
    if isinstance(tree, dict):
        return list(tree.items())
    if isinstance(tree, Keyed):
        return [(str(index) if numbered else name, item) for index, (name, item) in enumerate(tree.items.items())]
    if numbered:
        return [(str(index), item) for index, item in enumerate(tree.items)]
    own: dict[Node, int] = {}
    result = []
    for item in tree.items:
        own[item.policy] = own.get(item.policy, 0) + 1
        result.append((f"{item.policy} {own[item.policy]}", item))
    return result
