"""The ledger: the outcome of each policy at each effective target, counted, so a status costs only the change.

It counts rows of the query `outcomes` without interpreting them.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from sortedcontainers import SortedList

Row = Mapping[str, Any]  # {policy, targets, ancestor, outcome, by, count, examples, marks?, incomplete?}
Place = tuple[str, str]  # an object's key, and an opaque place in its status
Marks = dict[str, dict[str, list[str]]]  # by policy kind and place: policies
Tallies = dict[str, list[dict[str, Any]]]  # by policy, in the form of the query `status`
EXAMPLES = 3  # of scopes, for a message


class _Group(NamedTuple):
    """The common values of one policy's rows that are counted together."""

    ancestor: str
    targets: tuple[str, ...]
    outcome: str
    by: tuple[str, ...]
    incomplete: tuple[str, ...]


class _Kept(NamedTuple):
    policy: str
    group: _Group
    paths: int
    examples: tuple[str, ...]
    marks: tuple[Place, ...]


class _Mark(NamedTuple):
    """A policy's mark at one place of an object."""

    policy_kind: str
    place: str
    policy: str


@dataclass(slots=True)
class _Tally:
    """The number of paths of rows that are counted together, and the examples of each."""

    count: int = 0
    examples: SortedList[str] = field(default_factory=SortedList)


@dataclass(slots=True)
class Dirty:
    """The policies and objects, now or previously marked, whose status must be computed again, by key."""

    policies: set[str] = field(default_factory=set)
    objects: set[str] = field(default_factory=set)

    def add(self, keys: Iterable[str]) -> None:
        """Add keys that may be policies or objects."""
        found = set(keys)
        self.policies |= found
        self.objects |= found

    def update(self, other: Dirty) -> None:
        """Add all of another one."""
        self.policies |= other.policies
        self.objects |= other.objects


class Ledger:
    """Rows by (policy kind, effective target), with the counts by policy and the marks by object.

    Also the places that policies' full statuses omit, from the last query `status`.
    """

    def __init__(self) -> None:
        self.version = 0  # grows when rows differ
        self._rows: dict[tuple[str, str], tuple[_Kept, ...]] = {}
        self._tallies: defaultdict[str, dict[_Group, _Tally]] = defaultdict(dict)
        self._targets_of: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)  # by object
        self._marks: defaultdict[str, Counter[_Mark]] = defaultdict(Counter)  # by object
        self._unreported: dict[str, frozenset[Place]] = {}  # by policy
        self._left_out: defaultdict[str, set[_Mark]] = defaultdict(set)  # the same, by object

    def __len__(self) -> int:
        return len(self._rows)

    def replace(self, policy_kind: str, target: str, rows: Iterable[Row]) -> Dirty:
        """Replace the rows at one target; return the affected policies and objects."""
        place = (policy_kind, target)
        new = tuple(sorted(_read_row(row) for row in rows))
        old = self._rows.get(place, ())
        if new == old:
            return Dirty()
        self.version += 1
        before, after = Counter(old), Counter(new)  # equal rows count each
        gone, come = before - after, after - before
        changed = set()
        for row in come.elements():
            changed |= self._count(policy_kind, row)
        for row in gone.elements():
            changed |= self._uncount(policy_kind, row)
        holder = target.partition("#")[0].partition("@")[0]
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
        """Drop all rows of a policy kind; return the affected policies and objects."""
        dirty = Dirty()
        for kind, target in [place for place in self._rows if place[0] == policy_kind]:
            dirty.update(self.replace(kind, target, ()))
        for policy in [policy for policy in self._unreported if policy.startswith(f"{policy_kind}/")]:
            dirty.update(self.report(policy_kind, policy))
        return dirty

    def targets_of(self, object_key: str) -> Iterator[tuple[str, str]]:
        """Return the (policy kind, target) pairs in one object."""
        return iter(tuple(self._targets_of.get(object_key, ())))

    def tallies(self, policy: str) -> list[dict[str, Any]]:
        """Return a policy's counts in the form of the query `status`, in a stable order."""
        return [
            _make_tally(group, tally.count, tally.examples[:EXAMPLES])
            for group, tally in sorted(self._tallies.get(policy, {}).items(), key=itemgetter(0))
        ]

    def tallies_without(self, places: Iterable[tuple[str, str]]) -> Tallies:
        """Return the counts of each policy with rows at these (policy kind, target) pairs, without these rows."""
        left_out: defaultdict[str, defaultdict[_Group, list[_Kept]]] = defaultdict(lambda: defaultdict(list))
        for place in places:
            for row in self._rows.get(place, ()):
                left_out[row.policy][row.group].append(row)
        kept: Tallies = {}
        for policy, groups in left_out.items():
            kept[policy] = []
            for group, tally in sorted(self._tallies[policy].items(), key=itemgetter(0)):
                rows = groups.get(group, [])
                if count := tally.count - sum(row.paths for row in rows):
                    without = Counter(name for row in rows for name in row.examples)
                    kept[policy].append(_make_tally(group, count, _find_examples(tally.examples, without)))
        return kept

    def policies_at(self, policy_kind: str, target: str) -> set[str]:
        """Return the policies with rows at an effective target."""
        return {row.policy for row in self._rows.get((policy_kind, target), ())}

    def marks_on(self, object_key: str) -> Marks:
        """Return the policies that affect an object, by policy kind and place, in the form of the query `affected`."""
        return _group_by_kind(self._marks.get(object_key, ()))

    def unreported(self, object_key: str) -> Marks:
        """Return the policies whose full status omits an object, in the same form."""
        return _group_by_kind(self._left_out.get(object_key, ()))

    def report(self, policy_kind: str, policy: str, unreported: Iterable[Sequence[str]] = ()) -> Dirty:
        """Note the places that a policy's full status omits; return the affected objects."""
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
        """Return all objects with marks or omissions."""
        return {*self._marks, *self._left_out}

    def clear(self) -> None:
        """Drop everything, because all of it is computed again."""
        self.version += 1
        self._rows.clear()
        self._tallies.clear()
        self._targets_of.clear()
        self._marks.clear()
        self._unreported.clear()
        self._left_out.clear()

    def _count(self, policy_kind: str, row: _Kept) -> set[str]:
        """Add a row; return the newly marked objects."""
        tally = self._tallies[row.policy].setdefault(row.group, _Tally())
        tally.count += row.paths
        tally.examples.update(row.examples)
        changed = set()
        for holder, place in row.marks:
            marks, mark = self._marks[holder], _Mark(policy_kind, place, row.policy)
            if not marks[mark]:
                changed.add(holder)
            marks[mark] += 1
        return changed

    def _uncount(self, policy_kind: str, row: _Kept) -> set[str]:
        """Remove a row; return the objects that are no longer marked."""
        groups = self._tallies[row.policy]
        tally = groups[row.group]
        tally.count -= row.paths
        for name in row.examples:
            tally.examples.remove(name)
        if not tally.count:
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


def _make_tally(group: _Group, count: int, examples: Sequence[str]) -> dict[str, Any]:
    return {
        "ancestor": group.ancestor,
        "targets": list(group.targets),
        "outcome": group.outcome,
        "by": list(group.by),
        "count": count,
        "examples": list(examples),
        **({"incomplete": list(group.incomplete)} if group.incomplete else {}),
    }


def _find_examples(names: Iterable[str], without: Counter[str]) -> list[str]:
    """Return the first names as examples, without those in `without`, as often as they are there."""
    left, first = Counter(without), list[str]()
    for name in names:
        if left[name] > 0:
            left[name] -= 1
            continue
        first.append(name)
        if len(first) == EXAMPLES:
            break
    return first


def _read_row(row: Row) -> _Kept:
    certainty = tuple(row.get("incomplete", ()))
    group = _Group(row["ancestor"], tuple(row["targets"]), row["outcome"], tuple(row["by"]), certainty)
    # Many rows mark the same places: sharing keys keeps the ledger small.
    marks = tuple((sys.intern(mark[0]), sys.intern(mark[1])) for mark in row.get("marks", ()))
    return _Kept(row["policy"], group, row["count"], tuple(row["examples"]), marks)


def _group_by_kind(marks: Iterable[_Mark]) -> Marks:
    found: Marks = {}
    for mark in sorted(marks):
        found.setdefault(mark.policy_kind, {}).setdefault(mark.place, []).append(mark.policy)
    return found
