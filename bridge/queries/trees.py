"""The hierarchy as people ask for it: what is below a node, and what became of the policies there."""

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
    """The answer of the query `tree`, and by policy what became of it: the reasons of its conditions."""

    found: Entry
    outcomes: dict[str, list[str]]


async def tree_below(
    opa: Opa, root: Key | None, kind: str | None = None, depth: int | None = None, namespace: str | None = None
) -> Tree:
    """The hierarchy below a node, or all of it, with what became of each policy that it shows.

    With `namespace` the whole of it starts at the nodes of that namespace above which none of it stands.
    """
    if root is not None:
        found = await hierarchy_below(opa, root, kind, depth)
        return Tree(found, await outcomes_among(opa, found["nodes"].values()))
    # All policies are in the whole of it: their scopes are judged once for all of them, while OPA finds the nodes.
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
    """The answer of the query `tree`; with `refused` the links that do not count are part of it.

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
    """What became of the accepted policies of nodes, by policy: the reasons of its conditions."""
    accepted = sorted({policy["policy"] for node in nodes for policy in node["policies"] if policy["accepted"]})
    told = await in_batches(opa, "status", "policies", accepted)
    return {entry["policy"]: outcomes_of(entry) for entry in told}


def _roots_within(found: Entry, namespace: str) -> list[str]:
    inside = {key for key in found["nodes"] if parse_key(key).namespace == namespace}
    below = {child for key in inside for child in found["nodes"][key]["children"]}
    return sorted(inside - below)


# The conditions of 2025 have words of their own for the same outcome.
_OUTCOMES = {"Enforced": "Programmed", "PartiallyEnforced": "PartiallyProgrammed"}


def outcomes_of(entry: Entry) -> list[str]:
    """What became of a policy, once for all its ancestors that agree, in the words of the condition Programmed."""
    reasons = [
        _OUTCOMES.get(condition["reason"], condition["reason"])
        for group in condition_groups(entry)
        for condition in group
        if condition["type"] != "Accepted"
    ]
    return list(dict.fromkeys(reasons))
