"""From the policies on a path to the effective spec (F1 to F9): an order of precedence, then one merge.

Every variant builds its order with `join`; docs/reference/semantics.md, "Order of precedence", has the table.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby

from tests.reference import custom
from tests.reference.cluster_objects import Node
from tests.reference.kinds import PolicyKind, age
from tests.reference.merging import Tree, apply, leaves
from tests.reference.policies import Policy

Place = tuple[int, Policy]  # the level on the path, 0 is the root; and a policy attached there
Order = list[Tree]  # lowest precedence first


@dataclass(frozen=True)
class Side:
    """What takes part in a fold as one: a policy at a level; under OldestWins all policies of a level."""

    level: int
    strategy: str
    order: Order
    policies: tuple[Node, ...]


class Winners(dict[Node, set[Node]]):
    """For each policy those that can win over it; `atomic` has those that can by keeping it out as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.atomic: dict[Node, set[Node]] = {}

    def note(self, losers: Iterable[Side], winners: Iterable[Side]) -> None:
        """Each of these winners can win over each of these losers."""
        everyone = {node for side in winners for node in side.policies}
        for loser in (node for side in losers for node in side.policies):
            self[loser] = self.get(loser, set()) | everyone - {loser}

    def note_left_out(self, sides: Iterable[Side], closest: list[Side]) -> None:
        """F4: the closest can win over policies that are left out, if these are not among them elsewhere (P4)."""
        ordered = {node for side in closest for node in side.policies}
        for loser in {node for side in sides for node in side.policies} - ordered:
            self[loser] = self.get(loser, set()) | ordered

    def note_pairs(self, sides: list[Side], strategy_of: Callable[[int, int], str]) -> None:
        """The strategy of each pair (upper, lower) decides."""
        for lower, challenger in enumerate(sides):
            for upper, established in enumerate(sides[:lower]):
                strategy = strategy_of(upper, lower)
                if not strategy.endswith("Overrides"):
                    self._note_pair(strategy, established, challenger)
                if not strategy.endswith("Defaults"):
                    self._note_pair(strategy, challenger, established)

    def _note_pair(self, strategy: str, loser: Side, winner: Side) -> None:
        self.note([loser], [winner])
        if strategy.startswith("Atomic"):
            for node in loser.policies:
                self.atomic[node] = self.atomic.get(node, set()) | set(winner.policies) - {node}


@dataclass(frozen=True)
class Fold:
    """The effective spec, for each policy those that can win over it (O3), and the policies that the order has."""

    tree: Tree
    winners: Winners
    ordered: frozenset[Node] = frozenset()


def ordered(places: list[Place]) -> list[Place]:
    """F1: the established one first; at one level the wider one (T8)."""
    return sorted(places, key=lambda place: (place[0], place[1].breadth, age(place[1].obj)))


def fold(kind: PolicyKind, places: list[Place], levels: list[str]) -> Fold:
    """What these policies become together. There is one at least. `levels` has the name of each level of the path."""
    sides = [Side(level, policy.strategy, [policy.tree()], (policy.node,)) for level, policy in ordered(places)]
    return _direct(kind, sides) if kind.is_direct else _inherited(kind, sides, levels)


def _inherited(kind: PolicyKind, sides: list[Side], levels: list[str]) -> Fold:
    merge, winners = kind.option("custom", ""), Winners()
    if kind.same_level == "OldestWins":
        sides = [_one_side(list(level), merge, winners) for _, level in groupby(sides, lambda side: side.level)]
    if "parentLevels" in kind.spec:
        parents = [side for side in sides[:-1] if levels[side.level] in kind.spec["parentLevels"]]
        joined = [*parents[-1:], sides[-1]]
        winners.note_left_out([side for side in sides if side not in joined], joined)
        sides = [replace(side, strategy=sides[-1].strategy) for side in joined]
    winners.note_pairs(sides, lambda upper, _: sides[upper].strategy)
    order = _bottom_up(sides, merge)
    there = {node for tree in order for nodes in leaves(tree).values() for node in nodes}
    return Fold(applied(order), winners, frozenset(there))


def join(strategy: str, established: Order, challenger: Order, merge: str) -> Order:
    """Two sides by a strategy of GEP-713. `merge` is the kind's Custom."""
    if strategy == "AtomicDefaults":
        return challenger
    if strategy == "AtomicOverrides":
        return established
    if strategy == "PatchDefaults":
        return [*established, *challenger]
    if strategy == "PatchOverrides":
        return [*challenger, *established]
    if strategy == "Custom":
        return [custom.merge(merge, applied(established), applied(challenger))]
    raise ValueError(strategy)


def applied(order: Order) -> Tree:
    """The specs as RFC 7386 patches, one after the other."""
    return reduce(lambda target, patch: apply(patch, target), order)


def _bottom_up(sides: list[Side], merge: str) -> Order:
    order = sides[-1].order
    for side in reversed(sides[:-1]):
        order = join(side.strategy, side.order, order, merge)
    return order


def _one_side(level: list[Side], merge: str, winners: Winners) -> Side:
    """F5, OldestWins: the policies of one level, with the direction turned; the level has the oldest's strategy."""
    turned = [replace(side, strategy=side.strategy.replace("Defaults", "Overrides")) for side in level]
    winners.note_pairs(turned, lambda upper, _: turned[upper].strategy)
    policies = tuple(node for side in level for node in side.policies)
    return Side(level[0].level, level[0].strategy, _bottom_up(turned, merge), policies)


def _direct(kind: PolicyKind, sides: list[Side]) -> Fold:
    """C2: a ref with a section beats one without; disjoint specs at one target are united.

    Specs that are not disjoint, or several under Conflict, meet there only for the requests of one consumer (P6). The
    oldest then beats the others, as None has it.
    """
    there = [side for side in sides if side.level == sides[-1].level]
    winners = Winners()
    winners.note(sides[: -len(there)], there)
    winners.note_pairs(there, lambda *_: "Overrides")
    oldest_last = [tree for side in reversed(there) for tree in side.order]
    return Fold(oldest_last[-1] if kind.same_level == "Conflict" else applied(oldest_last), winners)
