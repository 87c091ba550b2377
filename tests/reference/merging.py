"""Specs whose leaves know which policy set them, and RFC 7386 over them (F3, F8, O1).

A spec is a tree: a dict of trees, or a Leaf. Scalars, nulls, arrays and empty objects are leaves (O1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.reference.objects import Node


@dataclass(frozen=True)
class Leaf:
    """A value that is taken whole, and the policy that it came from."""

    value: Any
    policy: Node


Tree = Leaf | dict[str, Any]  # the values of the dict are trees


def annotate(value: Any, policy: Node) -> Tree:
    """The spec of one policy."""
    if isinstance(value, dict) and value:
        return {name: annotate(inner, policy) for name, inner in value.items()}
    return Leaf(value, policy)


def patch(target: Tree, change: Tree) -> Tree:
    """RFC 7386's MergePatch, but a null stays in the result until the end (F3).

    A whole spec that is empty sets nothing, also on another empty one (O3: "an empty patch is Overridden").
    """
    return target if isinstance(change, Leaf) and change.value == {} else _patch(target, change)


def _patch(target: Tree, change: Tree) -> Tree:
    if isinstance(change, Leaf):
        # An empty object says nothing about an object that has fields. Where there is none, or an empty one, it is a
        # leaf that the patch sets, and an equal value set by the winner is the winner's (O2).
        return target if change.value == {} and isinstance(target, dict) else change
    result = dict(target) if isinstance(target, dict) else {}
    for name, inner in change.items():
        result[name] = _patch(result[name], inner) if name in result else inner
    return result


def plain(tree: Tree) -> Any:
    """The value of a tree, without tombstones; nulls inside arrays stay (F3)."""
    if isinstance(tree, Leaf):
        return tree.value
    return {name: plain(inner) for name, inner in tree.items() if not (isinstance(inner, Leaf) and inner.value is None)}


def leaves(tree: Tree, pointer: str = "") -> dict[str, Node]:
    """The policy of each leaf by JSON pointer, tombstones too."""
    if isinstance(tree, Leaf):
        return {pointer: tree.policy}
    found: dict[str, Node] = {}
    for name, inner in tree.items():
        found |= leaves(inner, pointer + "/" + name.replace("~", "~0").replace("/", "~1"))
    return found
