"""From the policies on a path to the effective policy (F1 to F7)."""

from __future__ import annotations

from tests.reference.kinds import PolicyKind, age
from tests.reference.merging import Tree, patch
from tests.reference.policies import Policy

Place = tuple[int, Policy]  # the level on the path, 0 is the root; and a policy attached there


def ordered(places: list[Place]) -> list[Place]:
    """F1: the established one first."""
    return sorted(places, key=lambda place: (place[0], age(place[1].obj)))


def fold(kind: PolicyKind, places: list[Place]) -> Tree:
    """The effective spec of these policies, of which there is one at least."""
    if kind.both_wrappers:
        if kind.option("mergesWith", "All") == "Closest":
            lowest_two = sorted({level for level, _ in places})[-2:]
            places = [place for place in places if place[0] in lowest_two]
        return _both(places)
    if kind.is_direct:
        return _direct(kind, places)
    places = ordered(places)
    stack = [(policy.strategy, policy.trees[0]) for _, policy in places]
    if kind.same_level == "OldestWins":
        stack = [_one_level(places, level) for level in sorted({level for level, _ in places})]
    if kind.option("mergesWith", "All") == "Closest":
        # F4: the most specific and the next above it. Where a level's policies have become one, that counts as one.
        stack = stack[-2:]
    if kind.option("strategyFrom", "Established") == "Challenger":
        return _by_challenger(stack)
    if kind.option("fold", "BottomUp") == "Stack":
        return _stack(stack)
    return _bottom_up(stack)


def step(strategy: str, established: Tree, challenger: Tree) -> Tree:
    """One pair by one of GEP-713's strategies."""
    if strategy == "AtomicDefaults":
        return challenger
    if strategy == "AtomicOverrides":
        return established
    if strategy == "PatchDefaults":
        return patch(established, challenger, target_first=True)
    if strategy == "PatchOverrides":
        return patch(challenger, established, target_first=False)
    raise ValueError(strategy)


Stack = list[tuple[str, Tree]]


def _bottom_up(stack: Stack) -> Tree:
    """F2."""
    result = stack[-1][1]
    for strategy, spec in reversed(stack[:-1]):
        result = step(strategy, spec, result)
    return result


def _by_challenger(stack: Stack) -> Tree:
    """F4."""
    result = stack[0][1]
    for strategy, spec in stack[1:]:
        result = step(strategy, result, spec)
    return result


def _stack(stack: Stack) -> Tree:
    """GEP-713's abstract process: pop pA (the least specific) and pB, merge by pA's strategy, which pB's then is."""
    stack = list(reversed(stack))
    while len(stack) > 1:
        strategy, established = stack.pop()
        next_strategy, challenger = stack.pop()
        stack.append((next_strategy, step(strategy, established, challenger)))
    return stack[0][1]


def _one_level(places: list[Place], level: int) -> tuple[str, Tree]:
    """F5, OldestWins: the policies of one level first become one, whose strategy is the oldest's.

    "Only the direction turns": Defaults become Overrides between two of one level. Were they not made one first, the
    defaults of the oldest would beat what stands on lower levels.
    """
    stack: Stack = [
        (policy.strategy.replace("Defaults", "Overrides"), policy.trees[0]) for at, policy in places if at == level
    ]
    oldest = next(policy for at, policy in places if at == level)
    return oldest.strategy, _bottom_up(stack)


def _both(places: list[Place]) -> Tree:
    """F6: A override > B override > C override > C default > B default > A default; oldest wins on one level."""
    overrides, defaults = [], []
    for level, policy in places:
        for part, tree in zip(policy.parts, policy.trees, strict=True):
            if part.strategy.endswith("Overrides"):
                overrides.append((level, age(policy.obj), tree))
            else:
                defaults.append((-level, age(policy.obj), tree))
    strongest_first = [
        tree for side in (overrides, defaults) for _, _, tree in sorted(side, key=lambda entry: entry[:2])
    ]
    result = strongest_first[-1]
    for tree in reversed(strongest_first[:-1]):
        result = patch(result, tree, target_first=False)
    return result


def _direct(kind: PolicyKind, places: list[Place]) -> Tree:
    """C2: a ref with a section beats one without; disjoint specs at one target are united.

    Specs that are not disjoint, or several under Conflict, meet there only for the requests of one consumer (P6). The
    oldest then beats the others, as None has it.
    """
    lowest = max(level for level, _ in places)
    trees = [policy.trees[0] for level, policy in ordered(places) if level == lowest]
    if kind.same_level == "Conflict":
        return trees[0]
    result = trees[-1]
    for tree in reversed(trees[:-1]):
        result = patch(result, tree, target_first=False)
    return result
