"""The ledger: what became of each policy at each effective target, counted so that a status costs the change.

It counts rows as the query `outcomes` gives them and knows nothing of what they mean.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sortedcontainers import SortedList

Row = Mapping[str, Any]  # {policy, targets, ancestor, outcome, by, scope, marks}
Place = tuple[str, str]  # an object's key, and a place in its status that the bridge need not understand
Marks = dict[str, dict[str, list[str]]]  # by policy kind and place: policies
Tallies = dict[str, list[dict[str, Any]]]  # by policy, as the query `status` takes them
EXAMPLES = 3  # of scopes, for a message


class _Group(NamedTuple):
    """What rows of one policy have in common that are counted together."""

    ancestor: str
    targets: tuple[str, ...]
    outcome: str
    by: tuple[str, ...]


class _Kept(NamedTuple):
    policy: str
    group: _Group
    scope: str
    marks: tuple[Place, ...]


class _Mark(NamedTuple):
    """That a policy is to be told of at one place of an object."""

    policy_kind: str
    place: str
    policy: str


@dataclass(slots=True)
class Dirty:
    """Whose status is to be computed anew: policies and objects that are or were marked, by key."""

    policies: set[str] = field(default_factory=set)
    objects: set[str] = field(default_factory=set)

    def note(self, keys: Iterable[str]) -> None:
        """Take in keys that may be policies or objects."""
        found = set(keys)
        self.policies |= found
        self.objects |= found

    def update(self, other: Dirty) -> None:
        """Take in what another one says."""
        self.policies |= other.policies
        self.objects |= other.objects


class Ledger:
    """Rows by (policy kind, effective target), with the counts by policy and the marks by object.

    Beside them the places that policies have no room for in their own status, as the query `status` told last.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], tuple[_Kept, ...]] = {}
        self._tallies: defaultdict[str, dict[_Group, SortedList[str]]] = defaultdict(dict)
        self._targets_of: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)  # by object
        self._marks: defaultdict[str, Counter[_Mark]] = defaultdict(Counter)  # by object
        self._unreported: dict[str, frozenset[Place]] = {}  # by policy
        self._left_out: defaultdict[str, set[_Mark]] = defaultdict(set)  # the same, by object

    def __len__(self) -> int:
        return len(self._rows)

    def replace(self, policy_kind: str, target: str, rows: Iterable[Row]) -> Dirty:
        """Put what the rows at one target are now in place of what they were; say who is concerned."""
        place = (policy_kind, target)
        new = tuple(sorted(_kept(row) for row in rows))
        old = self._rows.get(place, ())
        if new == old:
            return Dirty()
        before, after = Counter(old), Counter(new)  # rows that are equal count each
        gone, come = before - after, after - before
        changed = set()
        for row in come.elements():
            changed |= self._count(policy_kind, row)
        for row in gone.elements():
            changed |= self._uncount(policy_kind, row)
        holder = _object_of(target)
        if new:
            self._rows[place] = new
            self._targets_of[holder].add(place)
        else:
            del self._rows[place]
            self._targets_of[holder].discard(place)
            if not self._targets_of[holder]:
                del self._targets_of[holder]
        return Dirty({row.policy for row in gone | come}, changed)

    def drop(self, policy_kind: str) -> Dirty:
        """Forget all rows of a policy kind; say who is concerned."""
        dirty = Dirty()
        for kind, target in [place for place in self._rows if place[0] == policy_kind]:
            dirty.update(self.replace(kind, target, ()))
        for policy in [policy for policy in self._unreported if policy.startswith(f"{policy_kind}/")]:
            dirty.update(self.report(policy_kind, policy))
        return dirty

    def targets_of(self, object_key: str) -> Iterator[tuple[str, str]]:
        """The (policy kind, target) pairs that lie in one object."""
        return iter(tuple(self._targets_of.get(object_key, ())))

    def tallies(self, policy: str) -> list[dict[str, Any]]:
        """A policy's counts as the query `status` takes them, in a stable order."""
        return [
            _tally(group, len(scopes), scopes[:EXAMPLES])
            for group, scopes in sorted(self._tallies.get(policy, {}).items())
        ]

    def tallies_without(self, places: Iterable[tuple[str, str]]) -> Tallies:
        """The counts of each policy with rows at these (policy kind, target) pairs, as if these rows did not exist."""
        left_out: defaultdict[str, defaultdict[_Group, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for place in places:
            for row in self._rows.get(place, ()):
                left_out[row.policy][row.group][row.scope] += 1
        kept: Tallies = {}
        for policy, groups in left_out.items():
            kept[policy] = []
            for group, scopes in sorted(self._tallies[policy].items()):
                without = groups.get(group, Counter())
                if count := len(scopes) - without.total():
                    kept[policy].append(_tally(group, count, _first_without(scopes, without)))
        return kept

    def policies_at(self, policy_kind: str, target: str) -> set[str]:
        """The policies with rows at an effective target."""
        return {row.policy for row in self._rows.get((policy_kind, target), ())}

    def acting(self, object_key: str) -> Marks:
        """The policies that affect an object, by policy kind and place, as the query `affected` takes them."""
        return _by_kind(self._marks.get(object_key, ()))

    def unreported(self, object_key: str) -> Marks:
        """The policies in whose status there is no room for an object, in the same form."""
        return _by_kind(self._left_out.get(object_key, ()))

    def report(self, policy_kind: str, policy: str, unreported: Iterable[Sequence[str]] = ()) -> Dirty:
        """Note the places that a policy has no room for now; say which objects are concerned."""
        new = frozenset((place[0], place[1]) for place in unreported)
        old = self._unreported.pop(policy, frozenset())
        if new:
            self._unreported[policy] = new
        for holder, place in old - new:
            self._left_out[holder].discard(_Mark(policy_kind, place, policy))
            if not self._left_out[holder]:
                del self._left_out[holder]
        for holder, place in new - old:
            self._left_out[holder].add(_Mark(policy_kind, place, policy))
        return Dirty(objects={holder for holder, _ in old ^ new})

    def objects(self) -> set[str]:
        """All objects of which something is to be told."""
        return {*self._marks, *self._left_out}

    def clear(self) -> None:
        """Forget everything, because all of it is computed again."""
        self._rows.clear()
        self._tallies.clear()
        self._targets_of.clear()
        self._marks.clear()
        self._unreported.clear()
        self._left_out.clear()

    def _count(self, policy_kind: str, row: _Kept) -> set[str]:
        """Count a row in; the objects that are marked now and were not."""
        self._tallies[row.policy].setdefault(row.group, SortedList()).add(row.scope)
        changed = set()
        for holder, place in row.marks:
            marks, mark = self._marks[holder], _Mark(policy_kind, place, row.policy)
            if not marks[mark]:
                changed.add(holder)
            marks[mark] += 1
        return changed

    def _uncount(self, policy_kind: str, row: _Kept) -> set[str]:
        """Count a row out; the objects that were marked and are not now."""
        groups = self._tallies[row.policy]
        groups[row.group].remove(row.scope)
        if not groups[row.group]:
            del groups[row.group]
        if not groups:
            del self._tallies[row.policy]
        changed = set()
        for holder, place in row.marks:
            marks, mark = self._marks[holder], _Mark(policy_kind, place, row.policy)
            marks[mark] -= 1
            if not marks[mark]:
                del marks[mark]
                changed.add(holder)
            if not marks:
                del self._marks[holder]
        return changed


def _tally(group: _Group, count: int, examples: Sequence[str]) -> dict[str, Any]:
    return {
        "ancestor": group.ancestor,
        "targets": list(group.targets),
        "outcome": group.outcome,
        "by": list(group.by),
        "count": count,
        "examples": list(examples),
    }


def _first_without(scopes: Iterable[str], without: Counter[str]) -> list[str]:
    """The first scopes, as many as are examples, after each in `without` is left out as often as it counts there."""
    left, first = Counter(without), list[str]()
    for scope in scopes:
        if left[scope] > 0:
            left[scope] -= 1
            continue
        first.append(scope)
        if len(first) == EXAMPLES:
            break
    return first


def _kept(row: Row) -> _Kept:
    group = _Group(row["ancestor"], tuple(row["targets"]), row["outcome"], tuple(row["by"]))
    # Many rows mark the same places: keys that are kept once keep the ledger small.
    marks = tuple((sys.intern(mark[0]), sys.intern(mark[1])) for mark in row["marks"])
    return _Kept(row["policy"], group, row["scope"], marks)


def _by_kind(marks: Iterable[_Mark]) -> Marks:
    found: Marks = {}
    for mark in sorted(marks):
        found.setdefault(mark.policy_kind, {}).setdefault(mark.place, []).append(mark.policy)
    return found


def _object_of(target: str) -> str:
    return target.partition("#")[0].partition("@")[0]
