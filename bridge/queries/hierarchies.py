"""The hierarchy: as a tree with the outcomes of its policies, and as a picture with its nodes and labels.

A picture has a limit, because ten thousand routes would not be readable: further siblings of a kind become one `n more
HTTPRoutes`, and a level with too many nodes is only counted. Links that are ignored are part of the picture.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from bridge.model.keys import Key, parse_key
from bridge.opa.client import Opa
from bridge.opa.errors import QueryError
from bridge.queries.asking import Entry, explain_missing, outcomes_of
from bridge.queries.statuses import statuses


@dataclass(frozen=True, slots=True)
class Tree:
    """The result of the query `tree`, and the outcome of each accepted policy."""

    found: Entry
    outcomes: dict[str, str]


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
        hierarchy_below(opa, None, kind, depth), statuses(opa, with_objects=False, with_affected=False, kind=kind)
    )
    if namespace is not None:
        found["roots"] = _find_roots(found, namespace)
    return Tree(found, {entry["policy"]: entry["outcome"] for entry in every.policies if "outcome" in entry})


async def hierarchy_below(
    opa: Opa, root: Key | None, kind: str | None = None, depth: int | None = None, *, refused: bool = False
) -> Entry:
    """Return the result of the query `tree`; with `refused` including links that are ignored.

    Raises NameNotFoundError for a section that the root lacks.
    """
    query_input: Entry = {"refused": True} if refused else {}
    if root is not None:
        query_input["root"] = str(root)
    if kind is not None:
        query_input["policyKind"] = kind
    if depth is not None:
        query_input["depth"] = depth
    try:
        found: Entry = await opa.query("tree", query_input)
    except QueryError as error:
        if root is not None:
            await explain_missing(opa, [root], error)
        raise
    return found


async def outcomes_among(opa: Opa, nodes: Iterable[Entry]) -> dict[str, str]:
    """Return the outcome of each accepted policy of nodes."""
    accepted = sorted({policy["policy"] for node in nodes for policy in node["policies"] if policy["accepted"]})
    return await outcomes_of(opa, accepted)


def _find_roots(found: Entry, namespace: str) -> list[str]:
    inside = {key for key in found["nodes"] if parse_key(key).namespace == namespace}
    below = {child for key in inside for child in found["nodes"][key]["children"]}
    return sorted(inside - below)


SIBLINGS = 12  # children of one kind that are drawn below a node
NODES = 120  # nodes that are drawn in total

_MISSING = {"ParentNotFound": "parent", "BackendNotFound": "child", "ChildNotFound": "child"}


@dataclass(frozen=True, slots=True)
class Bound:
    """The limits of a picture: children of one kind below a node, and nodes in total; None for no limit."""

    siblings: int | None = SIBLINGS
    nodes: int | None = NODES


ALL = Bound(None, None)


@dataclass(frozen=True, slots=True)
class Attached:
    """A policy at a node: `reason` why it is not accepted, or "", `on_namespace` if its Namespace has it."""

    policy: Key
    reason: str
    on_namespace: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn node. `missing`: it does not exist, and an object names it.

    `parameters`: it is not a part of the hierarchy, but the parameters of a GatewayClass or Gateway.
    """

    key: Key
    policies: Sequence[Attached] = ()
    missing: bool = False
    parameters: bool = False


@dataclass(frozen=True, slots=True)
class CountedNodes:
    """Counted nodes of a kind below a parent ("": without one), and the number of those with policies.

    `what` is a Kind or a level of sections, `drawn` whether others of them are drawn.
    """

    parent: str
    what: str
    count: int
    with_policies: int
    drawn: bool

    @property
    def text(self) -> str:
        """Return their label in the picture."""
        more = "more " if self.drawn else ""
        policies = f" ({self.with_policies:,} with policies)" if self.with_policies else ""
        return f"{self.count:,} {more}{self.what}{'s' if self.count > 1 else ''}{policies}"


@dataclass(frozen=True, slots=True)
class Link:
    """From a parent to a child; `refused` is why it is ignored, or "". `parameters`: it is a parametersRef."""

    parent: str
    child: str
    refused: str = ""
    parameters: bool = False


@dataclass(slots=True)
class Picture:
    """The contents of a picture. `total` is the number of all nodes; `nodes` are by key, roots before others."""

    total: int
    nodes: dict[str, Drawn] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    counted: list[CountedNodes] = field(default_factory=list)
    outcomes: Mapping[str, str] = field(default_factory=dict)


async def picture_below(
    opa: Opa, root: Key | None, kind: str | None, depth: int | None, namespace: str | None, *, everything: bool
) -> Picture:
    """Return the picture of the hierarchy below a node, or of all of it, with the outcomes of its policies.

    `everything`: without limits. With `namespace`: only its nodes, and those above and below them.
    """
    found = await hierarchy_below(opa, root, kind, depth, refused=True)
    if depth is not None:
        found["refused"] = [link for link in found["refused"] if link["child"] in found["nodes"]]
    picture = picture_of(found, ALL if everything else Bound(), namespace)
    drawn = (found["nodes"][key] for key in picture.nodes if key in found["nodes"])
    above = (about for about in found["nodes"].values() if about["level"] == "Namespace")
    picture.outcomes = await outcomes_among(opa, (*drawn, *above))
    return picture


def picture_of(found: Entry, bound: Bound, namespace: str | None = None) -> Picture:
    """Return the picture of a result of the query `tree` with `refused`; the caller adds outcomes.

    With `namespace`: its nodes, and those above and below them.
    """
    return _Drawing(found, bound, namespace).picture()


class _Drawing:
    def __init__(self, found: Entry, bound: Bound, namespace: str | None) -> None:
        self._bound = bound
        nodes = {key: about for key, about in found["nodes"].items() if about["level"] != "Namespace"}
        self._namespaces = {key: about for key, about in found["nodes"].items() if about["level"] == "Namespace"}
        if not nodes:  # the root is a Namespace: its nodes are next to it
            nodes = self._namespaces
        if bound.nodes is not None:
            nodes = {key: about for key, about in nodes.items() if about["level"] != "Port" or about["policies"]}
        self._children = {key: [child for child in nodes[key]["children"] if child in nodes] for key in nodes}
        self._refused = found.get("refused", [])
        if namespace is not None:
            inside = {key for key in nodes if parse_key(key).namespace == namespace}
            below = _find_reached(inside, self._children)
            kept = below | _find_reached(inside, _turn_around(self._children))
            nodes = {key: about for key, about in nodes.items() if key in kept}
            self._children = {key: [child for child in self._children[key] if child in kept] for key in nodes}
            self._refused = [link for link in self._refused if {link["parent"], link["child"]} & below]
        self._nodes = nodes
        self._roots = sorted(set(nodes) - set(chain.from_iterable(self._children.values())))

    def picture(self) -> Picture:
        chosen = self._choose_nodes()
        picture = Picture(len(self._nodes))
        for key in chosen:
            picture.nodes[key] = Drawn(parse_key(key), tuple(self._list_attached(key)))
        for key in chosen:
            picture.links += [Link(key, child) for child in self._children[key] if child in chosen]
        for parent, children in (("", self._roots), *((key, self._children[key]) for key in chosen)):
            picture.counted += self._count_left(parent, children, chosen)
        self._add_parameters(picture, chosen)
        self._add_refused(picture)
        return picture

    def _choose_nodes(self) -> dict[str, None]:
        """Return the nodes to draw, level by level, within the limits."""
        chosen: dict[str, None] = {}
        level: Iterable[str] = [""]
        while groups := [group for key in level for group in self._group_children(key, chosen)]:
            room = None if self._bound.nodes is None else self._bound.nodes - len(chosen)
            most = self._find_limit(groups, room)
            level = list(dict.fromkeys(key for group in groups for key in group[:most]))
            if not level:
                break
            chosen.update(dict.fromkeys(level))
        return chosen

    def _group_children(self, parent: str, chosen: Mapping[str, None]) -> Iterator[list[str]]:
        """Return the undrawn children of a node, by kind; in each those with policies first."""
        children = self._children[parent] if parent else self._roots
        by_kind: dict[str, list[str]] = {}
        for child in children:
            if child not in chosen:
                by_kind.setdefault(self._name_kind(child), []).append(child)
        for members in by_kind.values():
            yield sorted(members, key=lambda key: not self._nodes[key]["policies"])

    def _find_limit(self, groups: Sequence[Sequence[str]], room: int | None) -> int | None:
        """Return the number of nodes to draw of each group."""
        most = self._bound.siblings
        while room is not None and most and len({key for group in groups for key in group[:most]}) > room:
            most -= 1
        return most

    def _count_left(self, parent: str, children: Iterable[str], chosen: Mapping[str, None]) -> Iterator[CountedNodes]:
        drawn = {self._name_kind(child) for child in children if child in chosen}
        left = [child for child in children if child not in chosen]
        counts = Counter(map(self._name_kind, left))
        policies = Counter(self._name_kind(child) for child in left if self._nodes[child]["policies"])
        for what, count in counts.items():
            yield CountedNodes(parent, what, count, policies[what], what in drawn)

    def _name_kind(self, key: str) -> str:
        return str(self._nodes[key]["level"]).lower() if "#" in key else parse_key(key).kind

    def _list_attached(self, key: str) -> Iterator[Attached]:
        about = self._nodes[key]
        above = self._namespaces.get(about.get("namespace", ""), {"policies": ()})
        for policies, on_namespace in ((above["policies"], True), (about["policies"], False)):
            for policy in policies:
                yield Attached(parse_key(policy["policy"]), policy.get("reason", ""), on_namespace)

    def _add_parameters(self, picture: Picture, chosen: Iterable[str]) -> None:
        for key in chosen:
            named = self._nodes[key].get("parameters")
            if named is not None:
                picture.nodes.setdefault(named, Drawn(parse_key(named), parameters=True))
                picture.links.append(Link(key, named, parameters=True))

    def _add_refused(self, picture: Picture) -> None:
        """Add the links of drawn nodes that are ignored."""
        ends: Counter[tuple[str, str]] = Counter()
        for link in self._refused:
            known = [key for key in (link["parent"], link["child"]) if key in picture.nodes]
            others = [key for key in (link["parent"], link["child"]) if key not in picture.nodes]
            if not known or any(key in self._nodes for key in others):
                continue  # beyond the limit
            place = (known[0], "parent" if known[0] == link["parent"] else "child")
            ends[place] += 1
            if self._bound.siblings is not None and ends[place] > self._bound.siblings:
                continue
            for key in others:
                missing = link.get(_MISSING.get(link["reason"], "")) == key
                picture.nodes[key] = Drawn(parse_key(key), missing=missing)
            picture.links.append(Link(link["parent"], link["child"], link["reason"]))


def _find_reached(start: set[str], links: Mapping[str, Sequence[str]]) -> set[str]:
    reached, left = set(start), list(start)
    while left:
        for key in links.get(left.pop(), ()):
            if key not in reached:
                reached.add(key)
                left.append(key)
    return reached


def _turn_around(links: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    turned: dict[str, list[str]] = {}
    for parent, children in links.items():
        for child in children:
            turned.setdefault(child, []).append(parent)
    return turned
