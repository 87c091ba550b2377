"""Changes of which OPA has not said yet what they concern, in turns of their namespaces.

    waiting -> asked about: those of one namespace, or a few of several -> known

A namespace with many changes delays another by one query.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bridge.model.changes import Notice, merge_notices
from bridge.model.keys import Key

KEYS = 500  # changed objects of one namespace in a query
FEW = 100  # changed objects of several namespaces in a query


@dataclass(eq=False, frozen=True, slots=True)
class Question:
    """Changes as one, about which OPA is asked: those of these namespaces.

    The first of them arrived at the time `since`, and has the number `revision`. `again` means that an earlier query
    about them took too long.
    """

    change: Notice
    namespaces: frozenset[str]
    since: float
    revision: int
    again: bool = False

    def about(self, key: Key, revision: int) -> "Question":
        """Return the question about one of the objects that is asked again."""
        return Question(cut(self.change, (key,), ()), frozenset([key.namespace]), self.since, revision, again=True)


class _Waiting(NamedTuple):
    change: Notice  # of one namespace
    since: float
    revision: int


@dataclass(slots=True)
class WaitingChanges:
    """The changes by namespace, whose turn it is in front."""

    _by_namespace: OrderedDict[str, deque[_Waiting]] = field(default_factory=OrderedDict)
    _apart: set[str] = field(default_factory=set)  # namespaces whose changes are asked about alone

    def __bool__(self) -> bool:
        return bool(self._by_namespace)

    @property
    def first_revision(self) -> int | None:
        """The number of the oldest change; None without any."""
        waiting = (one.revision for changes in self._by_namespace.values() for one in changes)
        return min(waiting, default=None)

    def add(self, notice: Notice, revision: int) -> None:
        """Add a change."""
        since = asyncio.get_running_loop().time()
        for namespace, own in _split_by_namespace(notice).items():
            self._by_namespace.setdefault(namespace, deque()).append(_Waiting(own, since, revision))

    def put_back(self, question: Question, *, apart: bool = False) -> None:
        """Let changes wait again, before later ones; `apart` asks about each of their namespaces alone."""
        for namespace, own in _split_by_namespace(question.change).items():
            changes = self._by_namespace.setdefault(namespace, deque())
            changes.appendleft(_Waiting(own, question.since, question.revision))
            if apart:
                self._apart.add(namespace)
                self._by_namespace.move_to_end(namespace, last=False)

    def clear(self) -> None:
        """Drop all changes."""
        self._by_namespace.clear()
        self._apart.clear()

    def take(self) -> Question | None:
        """Remove and return the changes to ask about next; None without any.

        A change of policy kinds takes all others along: what they concern may follow from the new description.
        """
        if not self._by_namespace:
            return None
        if any(one.change.kinds for changes in self._by_namespace.values() for one in changes):
            taken = [one for changes in self._by_namespace.values() for one in changes]
            namespaces = frozenset(self._by_namespace)
            self.clear()
            return _merge(taken, namespaces)
        namespace, changes = self._by_namespace.popitem(last=False)
        taken = [changes.popleft()]
        count = _count(taken)
        while changes and count + _count([changes[0]]) <= KEYS:
            taken.append(changes.popleft())
            count += _count(taken[-1:])
        if changes:
            self._by_namespace[namespace] = changes
        elif namespace not in self._apart:
            return self._take_others(namespace, taken, FEW - count)
        self._apart.discard(namespace)
        return _merge(taken, frozenset([namespace]))

    def _take_others(self, namespace: str, taken: list[_Waiting], most: int) -> Question:
        """Take changes of `most` objects of other namespaces along."""
        together = {namespace}
        for other in [name for name in self._by_namespace if name not in self._apart]:
            if most <= 0:
                break
            if (count := _count(self._by_namespace[other])) <= most:
                most -= count
                taken.extend(self._by_namespace.pop(other))
                together.add(other)
        return _merge(taken, frozenset(together))


def _count(waiting: Iterable[_Waiting]) -> int:
    return sum(len(one.change.keys) for one in waiting)


def _merge(waiting: Sequence[_Waiting], namespaces: frozenset[str]) -> Question:
    change = merge_notices([one.change for one in waiting])
    return Question(change, namespaces, min(one.since for one in waiting), min(one.revision for one in waiting))


def _split_by_namespace(notice: Notice) -> dict[str, Notice]:
    keys: dict[str, list[Key]] = {}
    reported: dict[str, list[Key]] = {}
    for key in notice.keys:
        keys.setdefault(key.namespace, []).append(key)
    for key in notice.reported:
        reported.setdefault(key.namespace, []).append(key)
    namespaces = dict.fromkeys((*keys, *reported))
    if len(namespaces) < 2:
        return {next(iter(namespaces), ""): notice}
    return {name: cut(notice, keys.get(name, ()), reported.get(name, ())) for name in namespaces}


def cut(notice: Notice, keys: Sequence[Key], reported: Sequence[Key]) -> Notice:
    """Return the part of a change about these objects."""
    was = {key: notice.was[key] for key in keys if key in notice.was}
    return Notice(tuple(keys), tuple(reported), was, kinds=notice.kinds, traces=notice.traces)
