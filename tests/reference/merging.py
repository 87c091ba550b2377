"""Specs whose leaves know which policies set them, and RFC 7386 over them (F3, F8, O1).

A spec is a tree: a dict of trees, a Leaf, or, where a kind's `merge` defines the key of a list's items, Keyed.
Scalars, nulls, arrays, empty objects and units are leaves (O1).
"""

from dataclasses import dataclass
from typing import Any

from tests.reference.cluster_objects import Node, Spec


@dataclass(frozen=True)
class Leaf:
    """A value that is taken whole, and the policy that set it; several policies only by a Custom strategy (F9).

    `adds_nothing`: an empty object, or an empty list that would be merged if it had items. It removes nothing.
    """

    value: Any
    policies: tuple[Node, ...]
    adds_nothing: bool = False


@dataclass(frozen=True)
class Keyed:
    """A list that is merged by the name of its items (F8, listKeys)."""

    items: dict[str, Any]  # trees


Tree = Leaf | Keyed | dict[str, Any]  # the values of the dict are trees


def annotate(value: Any, policy: Node, rules: Spec, pointer: str = "") -> Tree:
    """The spec of one policy; `rules` is the `merge` of its kind."""
    if pointer in Pattern(rules.get("units", [])):
        return Leaf(value, (policy,))
    if isinstance(value, dict):
        if not value:
            return Leaf(value, (policy,), adds_nothing=True)
        return {name: annotate(inner, policy, rules, below(pointer, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return _annotate_list(value, policy, rules, pointer)
    return Leaf(value, (policy,))


def _annotate_list(value: list[Any], policy: Node, rules: Spec, pointer: str) -> Tree:
    for pattern, key in rules.get("listKeys", {}).items():
        if pointer in Pattern([pattern]):
            if key:
                names = [str(item[key]) for item in value if isinstance(item, dict) and key in item]
            else:  # items without names are of their policy alone
                names = [f"{policy} {index}" for index in range(len(value))]
            if len(set(names)) < len(value):
                return Leaf(value, (policy,))
            if value:
                named = zip(names, value, strict=True)
                return Keyed({name: annotate(item, policy, rules, below(pointer, name)) for name, item in named})
            return Leaf(value, (policy,), adds_nothing=True)
    return Leaf(value, (policy,))


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


def apply(patch: Tree, target: Tree) -> Tree:
    """RFC 7386's MergePatch(target, patch), except that a null stays in the result as a tombstone (F3).

    A whole spec that is empty sets nothing, also on another empty one (O3: "an empty patch is Overridden").
    """
    return target if isinstance(patch, Leaf) and patch.value == {} else _apply(patch, target)


def _apply(patch: Tree, target: Tree) -> Tree:
    if isinstance(patch, Leaf):
        # An empty object adds nothing to an object that has fields. On anything else, also on an empty object, it is a
        # leaf that the patch sets: an equal value set by the winner is the winner's (O2).
        return target if patch.adds_nothing and _has_such(target, patch.value) else patch
    if isinstance(patch, Keyed):
        others = target.items if isinstance(target, Keyed) else {}
        merged = {name: _apply(item, others[name]) if name in others else item for name, item in patch.items.items()}
        return Keyed(merged | {name: item for name, item in others.items() if name not in merged})
    result = dict(target) if isinstance(target, dict) else {}
    for name, inner in patch.items():
        result[name] = _apply(inner, result[name]) if name in result else inner
    return result


def _has_such(tree: Tree, empty: Any) -> bool:
    return isinstance(tree, dict) if empty == {} else isinstance(tree, Keyed)


def plain(tree: Tree) -> Any:
    """The value of a tree, without tombstones; nulls inside arrays stay (F3)."""
    if isinstance(tree, dict):
        kept = {name: inner for name, inner in tree.items() if not (isinstance(inner, Leaf) and inner.value is None)}
        return {name: plain(inner) for name, inner in kept.items()}
    return [plain(item) for item in tree.items.values()] if isinstance(tree, Keyed) else tree.value


def with_tombstones(tree: Tree) -> Any:
    """The value of a tree with its tombstones: what a Custom strategy sees of a side (F9)."""
    if isinstance(tree, dict):
        return {name: with_tombstones(inner) for name, inner in tree.items()}
    return [with_tombstones(item) for item in tree.items.values()] if isinstance(tree, Keyed) else tree.value


def origins(tree: Tree, pointer: str = "") -> dict[str, tuple[Node, ...]]:
    """The policies of each leaf by JSON pointer into the plain value, tombstones too."""
    return _leaves(tree, pointer, numbered=True)


def leaves(tree: Tree, pointer: str = "") -> dict[str, tuple[Node, ...]]:
    """The policies of each leaf, where a list item has a name of its own: its key, or whose it is."""
    return _leaves(tree, pointer, numbered=False)


def _leaves(tree: Tree, pointer: str, *, numbered: bool) -> dict[str, tuple[Node, ...]]:
    if isinstance(tree, Leaf):
        return {pointer: tree.policies}
    found: dict[str, tuple[Node, ...]] = {}
    parts = tree.items if isinstance(tree, Keyed) else tree
    for index, (name, inner) in enumerate(parts.items()):
        step = str(index) if numbered and isinstance(tree, Keyed) else name
        found |= _leaves(inner, below(pointer, step), numbered=numbered)
    return found
