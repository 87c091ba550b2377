"""The hierarchy for commands: the nodes below a node, and the outcomes of the policies there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from bridge.model.keys import Key, parse_key
from bridge.opa.client import Opa
from bridge.opa.errors import QueryError
from bridge.queries.asking import Entry, explain_missing, in_batches
from bridge.queries.statuses import condition_groups, statuses


@dataclass(frozen=True, slots=True)
class Tree:
    """The result of the query `tree`, and by policy the reasons of its conditions."""

    found: Entry
    outcomes: dict[str, list[str]]


async def tree_below(
    opa: Opa, root: Key | None, kind: str | None = None, depth: int | None = None, namespace: str | None = None
) -> Tree:
    """Return the hierarchy below a node, or all of it, with the outcome of each policy in it.

    With `namespace` it starts at the topmost nodes of that namespace.
    """
    if root is not None:
        found = await hierarchy_below(opa, root, kind, depth)
        return Tree(found, await outcomes_among(opa, found["nodes"].values()))
    # The whole tree has all policies: their scopes are evaluated once for all, while OPA finds the nodes.
    found, every = await asyncio.gather(
        hierarchy_below(opa, None, kind, depth),
        statuses(opa, with_objects=False, with_affected=False, kind=kind),
    )
    if namespace is not None:
        found["roots"] = _roots_within(found, namespace)
    return Tree(found, {entry["policy"]: outcomes_of(entry) for entry in every.policies})


async def hierarchy_below(
    opa: Opa, root: Key | None, kind: str | None = None, depth: int | None = None, *, refused: bool = False
) -> Entry:
    """Return the result of the query `tree`; with `refused` including links that do not count.

    Raises NameNotFoundError for a section that the root lacks.
    """
    asked: Entry = {"refused": True} if refused else {}
    if root is not None:
        asked["root"] = str(root)
    if kind is not None:
        asked["policyKind"] = kind
    if depth is not None:
        asked["depth"] = depth
    try:
        found: Entry = await opa.query("tree", asked)
    except QueryError as error:
        if root is not None:
            await explain_missing(opa, [root], error)
        raise
    return found


async def outcomes_among(opa: Opa, nodes: Iterable[Entry]) -> dict[str, list[str]]:
    """Return the outcomes of the accepted policies of nodes, by policy: the reasons of its conditions."""
    accepted = sorted({policy["policy"] for node in nodes for policy in node["policies"] if policy["accepted"]})
    told = await in_batches(opa, "status", "policies", accepted)
    return {entry["policy"]: outcomes_of(entry) for entry in told}


def _roots_within(found: Entry, namespace: str) -> list[str]:
    inside = {key for key in found["nodes"] if parse_key(key).namespace == namespace}
    below = {child for key in inside for child in found["nodes"][key]["children"]}
    return sorted(inside - below)


# The conditions of 2025 have other words for the same outcome.
_OUTCOMES = {"Enforced": "Programmed", "PartiallyEnforced": "PartiallyProgrammed"}


def outcomes_of(entry: Entry) -> list[str]:
    """Return the outcomes of a policy, each once for all its ancestors, in the words of the condition Programmed."""
    reasons = [
        _OUTCOMES.get(condition["reason"], condition["reason"])
        for group in condition_groups(entry)
        for condition in group
        if condition["type"] != "Accepted"
    ]
    return list(dict.fromkeys(reasons))
