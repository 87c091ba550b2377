"""The ledger: what became of each policy at each effective target, counted so that a status costs the change.

It counts rows as the query `outcomes` gives them and knows nothing of what they mean.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sortedcontainers import SortedList

Row = Mapping[str, Any]  # {policy, ancestor, outcome, by, scope, affects}
EXAMPLES = 3  # of scopes, for a message


class _Group(NamedTuple):
    """What rows of one policy have in common that are counted together."""

    ancestor: str
    outcome: str
    by: tuple[str, ...]


class _Kept(NamedTuple):
    policy: str
    group: _Group
    scope: str
    affects: bool


@dataclass(slots=True)
class Dirty:
    """Whose status is to be computed anew: policies and objects that hold effective targets, by key."""

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
    """Rows by (policy kind, effective target), with the counts by policy and the acting policies by object."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], tuple[_Kept, ...]] = {}
        self._tallies: defaultdict[str, dict[_Group, SortedList[str]]] = defaultdict(dict)
        self._targets_of: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)  # by object

    def __len__(self) -> int:
        return len(self._rows)

    def replace(self, policy_kind: str, target: str, rows: Iterable[Row]) -> Dirty:
        """Put what the rows at one target are now in place of what they were; say who is concerned."""
        place = (policy_kind, target)
        new = tuple(sorted(_kept(row) for row in rows))
        old = self._rows.get(place, ())
        if new == old:
            return Dirty()
        for row in old:
            self._uncount(row)
        for row in new:
            self._count(row)
        holder = _object_of(target)
        if new:
            self._rows[place] = new
            self._targets_of[holder].add(place)
        else:
            del self._rows[place]
            self._targets_of[holder].discard(place)
            if not self._targets_of[holder]:
                del self._targets_of[holder]
        before, after = Counter(old), Counter(new)  # rows that are equal count each
        return Dirty({row.policy for row in (before - after) + (after - before)}, {holder})

    def drop(self, policy_kind: str) -> Dirty:
        """Forget all rows of a policy kind; say who is concerned."""
        dirty = Dirty()
        for kind, target in [place for place in self._rows if place[0] == policy_kind]:
            dirty.update(self.replace(kind, target, ()))
        return dirty

    def targets_of(self, object_key: str) -> Iterator[tuple[str, str]]:
        """The (policy kind, target) pairs that lie in one object."""
        return iter(tuple(self._targets_of.get(object_key, ())))

    def tallies(self, policy: str) -> list[dict[str, Any]]:
        """A policy's counts as the query `status` takes them, in a stable order."""
        return [
            {
                "ancestor": group.ancestor,
                "outcome": group.outcome,
                "by": list(group.by),
                "count": len(scopes),
                "examples": list(scopes[:EXAMPLES]),
            }
            for group, scopes in sorted(self._tallies.get(policy, {}).items())
        ]

    def acting(self, object_key: str) -> dict[str, list[str]]:
        """The policies that act on an object or its sections, by policy kind, as the query `affected` takes them."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for place in self._targets_of.get(object_key, ()):
            found[place[0]].update(row.policy for row in self._rows[place] if row.affects)
        return {kind: sorted(policies) for kind, policies in found.items() if policies}

    def clear(self) -> None:
        """Forget everything, because all of it is computed again."""
        self._rows.clear()
        self._tallies.clear()
        self._targets_of.clear()

    def _count(self, row: _Kept) -> None:
        self._tallies[row.policy].setdefault(row.group, SortedList()).add(row.scope)

    def _uncount(self, row: _Kept) -> None:
        groups = self._tallies[row.policy]
        groups[row.group].remove(row.scope)
        if not groups[row.group]:
            del groups[row.group]
        if not groups:
            del self._tallies[row.policy]


def _kept(row: Row) -> _Kept:
    group = _Group(row["ancestor"], row["outcome"], tuple(row["by"]))
    return _Kept(row["policy"], group, row["scope"], row["affects"])


def _object_of(target: str) -> str:
    return target.partition("#")[0]
