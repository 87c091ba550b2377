"""The outcome of each policy at each effective target: counted in a ledger, and computed at the cost of each change.

    changed objects -> their effective targets -> the outcome of each policy there -> the ledger

The ledger counts rows of the query `outcomes` without interpreting them, so a status costs only the change. A small
change is computed by the query that says what it concerns (`take_in`). The effective targets of others are computed in
batches, those of each change until all are: until then the change is not settled, and its statuses wait.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

import structlog
from sortedcontainers import SortedList

from bridge.derived.loop import Outdated
from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.opa.batches import at_targets_of, may_succeed_in_part, parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.remediator.write_loop import Names
from bridge.work import BatchSize, Turns

Row = Mapping[str, Any]  # {policy, targets, ancestor, outcome, by, count, examples, marks?, incomplete?}
Marked = tuple[str, str]  # an object's key, and an opaque place in its status
Place = tuple[str, str]  # (policy kind, effective target)
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
    marks: tuple[Marked, ...]


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
        self._rows: dict[Place, tuple[_Kept, ...]] = {}
        self._tallies: defaultdict[str, dict[_Group, _Tally]] = defaultdict(dict)
        self._targets_of: defaultdict[str, set[Place]] = defaultdict(set)  # by object
        self._marks: defaultdict[str, Counter[_Mark]] = defaultdict(Counter)  # by object
        self._unreported: dict[str, frozenset[Marked]] = {}  # by policy
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

    def targets_of(self, object_key: str) -> Iterator[Place]:
        """Return the (policy kind, target) pairs in one object."""
        return iter(tuple(self._targets_of.get(object_key, ())))

    def tallies(self, policy: str) -> list[dict[str, Any]]:
        """Return a policy's counts in the form of the query `status`, in a stable order."""
        return [
            _make_tally(group, tally.count, tally.examples[:EXAMPLES])
            for group, tally in sorted(self._tallies.get(policy, {}).items(), key=itemgetter(0))
        ]

    def tallies_without(self, places: Iterable[Place]) -> Tallies:
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


log = structlog.get_logger(__name__)

TARGETS_BATCH = 1_000  # effective targets of a query
POLICIES = 20  # policies of the first query for effective targets: those of Gateways have thousands
SMALL = 100  # effective targets that are computed by the query that says that a change concerns them
EVERYTHING = ""  # the owner of effective targets that are computed because all are
Item = tuple[str, str]  # ("policy" or "object", key)
# Desired and current status of an item, in the form of the query `reports`; without `desired` there is none to write.
Report = Mapping[str, Any]


class Stale(NamedTuple):
    """An effective target to compute for one policy kind. Its `owner` is the text of the changes' namespaces."""

    owner: str
    policy_kind: str
    target: str


@dataclass(eq=False, slots=True)
class Settling:
    """A change that is settled when no place is left: then the statuses of `dirty` may differ.

    `outdated` is None if everything is computed. `reports` are what OPA has reported already. While one that `rebuilds`
    is not settled, rows of the ledger are missing.
    """

    outdated: Outdated | None
    owner: str
    rebuilds: bool
    changed: frozenset[str] = frozenset()  # objects with changed declarations
    places: set[Place] = field(default_factory=set)
    dirty: Dirty = field(default_factory=Dirty)
    reports: dict[Item, Report] = field(default_factory=dict)
    is_known: bool = False  # whether all places are


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a query about a change was given: places to compute, the counts without them, and the state of these."""

    change: Notice
    before: set[Place]
    kept: Tallies
    version: int  # of the ledger
    number: int  # of the query


class Computing:
    """Updates a ledger with OPA, at the cost of each change."""

    def __init__(self, opa: Opa, ledger: Ledger, patient: Opa | None = None) -> None:
        """`patient` is a client with a longer timeout for queries about everything."""
        self._opa = opa
        self._patient = patient or opa
        self._ledger = ledger
        self._kinds: Mapping[str, Any] = {}  # the counted kinds, as of the computation of the ledger's rows
        self._settling: list[Settling] = []
        self._asked: _Asked | None = None
        self._sizes: dict[str, BatchSize] = {}  # of queries, by owner
        self._queries = _Queries()
        self.hard: set[Place] = set()  # places of a query that failed: each must be computed alone
        self.computed: Counter[str] = Counter()  # effective targets that were computed, by policy kind
        self.former: list[Names] = []  # former kinds: their conditions may still exist
        self.observes = False  # whether kinds in mode Observe, which are never written, are counted too

    @property
    def partial(self) -> bool:
        """Whether rows are missing: everything, or all of a kind, is being computed."""
        return any(change.rebuilds for change in self._settling)

    @property
    def is_settling(self) -> bool:
        """Whether a change is not settled."""
        return bool(self._settling)

    def is_waiting(self, key: str) -> bool:
        """Return whether an object's change is not settled: its result may be computed in part."""
        return any(key in change.changed for change in self._settling)

    def clear(self) -> None:
        """Drop what is being computed, because everything is about to be."""
        self._settling.clear()
        self._sizes.clear()
        self._queries.forget()
        self._asked = None
        self.hard.clear()

    def wants_besides(self, change: Notice) -> Mapping[str, Any]:
        """Return the part of the query `outdated` that computes a small change."""
        if self._asked:  # it had no answer
            self._queries.end(self._asked.number)
            self._asked = None
        before = self._places_near(change)
        if change.kinds or len(before) > SMALL:  # the counts and reports are out of date when the kinds are described
            return {}
        # Without kept tallies OPA counts all of a policy, and reports only those whose targets the change covers.
        kept = {} if self.partial else self._ledger.tallies_without(before)
        self._asked = _Asked(change, before, kept, self._ledger.version, self._queries.begin())
        targets: dict[str, list[str]] = {}
        for kind, target in sorted(before):
            targets.setdefault(kind, []).append(target)
        known = {"targets": targets, "kept": kept, "former": self.former}
        return {"remediation": {**known, "observed": self.observes, "most": SMALL}}

    def take_in(self, outdated: Outdated) -> Settling:
        """Process what OPA says about a change: the ledger has the results that it gives."""
        change = outdated.change
        owner = ", ".join(sorted(outdated.namespaces)) or EVERYTHING
        changed = frozenset(map(str, change.keys))
        now = Settling(outdated, owner, rebuilds=change.kinds, changed=changed, is_known=not change.kinds)
        now.dirty.add((*changed, *map(str, change.reported)))
        if change.keys:
            self._take_answer(outdated, now)
        if now.places or now.rebuilds:
            self._settling.append(now)
        return now

    async def stale_after(self, outdated: Outdated) -> Settling | None:
        """Return the change with all of its places; None if it is settled. Raises OpaError; then call it again."""
        now = next((one for one in self._settling if one.outdated is outdated), None)
        if now is not None and not now.is_known:
            await self._describe_kinds(now)
        return now

    async def stale_all(self) -> Settling:
        """Drop all results; return the computation of everything. Raises OpaError; then call it again."""
        self.clear()
        self._ledger.clear()
        now = Settling(None, EVERYTHING, rebuilds=True)
        self._settling.append(now)
        kinds = await self._active_kinds()
        self._retire(kinds)
        self._kinds = kinds
        policies: list[str] = await self._patient.query("policies", {})
        now.dirty.policies.update(policies, await self._patient.query("policykinds", {}))
        now.dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))
        await self._find_places(policies, now)
        now.is_known = True
        return now

    def stale_of(self, change: Settling) -> list[Stale]:
        """Return the places of a change to compute, in order."""
        return [Stale(change.owner, kind, target) for kind, target in sorted(change.places)]

    def end_if_settled(self, change: Settling) -> bool:
        """Return whether a change is settled, which ends it."""
        if change.places or not change.is_known:
            return False
        if change in self._settling:
            self._settling.remove(change)
        if not any(other.owner == change.owner for other in self._settling):
            self._sizes.pop(change.owner, None)
        return True

    def take(self, stale: Turns[Stale]) -> list[Stale]:
        """Remove and return places of one owner and policy kind, for one query."""
        owner = stale.owners[0]
        keys = stale.take_of(owner, self._size_of(str(owner)).now)
        for key in reversed(keys):
            if key.policy_kind != keys[0].policy_kind:
                stale.add(key, first=True)
        return [key for key in keys if key.policy_kind == keys[0].policy_kind]

    async def compute(self, stale: Sequence[Stale]) -> list[Settling]:
        """Compute places of one owner and policy kind; return the changes that are settled then. Raises OpaError.

        The places of a query that fails at some of them are added to `hard`.
        """
        owner, kind, _ = stale[0]
        targets = [key.target for key in stale]
        waiting = [change for change in self._settling if change.owner == owner]
        if kind not in self._kinds:
            return list(self._give_up([(kind, target) for target in targets], waiting))
        clock = asyncio.get_running_loop().time  # tests stop it
        began = clock()
        with self._queries.running() as number:
            try:
                rows = await self._opa.query("outcomes", {"policyKind": kind, "targets": targets})
            except OpaError as error:
                if not await may_succeed_in_part(self._opa, error):
                    raise
                self.hard.update((kind, target) for target in targets)
                return []
            finally:
                self._size_of(owner).learn(len(targets), clock() - began)
            if self._opa.failures.errors:
                self._opa.failures.drop("outcomes", map(at_targets_of(kind), targets))
            self.computed[kind] += len(targets)
            return list(self._apply(number, kind, {target: rows.get(target, ()) for target in targets}, waiting))

    async def compute_alone(self, place: Place, too_slow: list[str]) -> list[Settling]:
        """Compute one place; return the changes that are settled then. Raises OpaError.

        If it takes too long, it is added to `too_slow`: statuses show the known state until a later attempt succeeds.
        """
        kind, target = place
        waiting = list(self._settling)
        if kind in self._kinds:
            with self._queries.running() as number:
                more, name_of = {"policyKind": kind}, at_targets_of(kind)
                asking = parts(self._opa, "outcomes", "targets", [target], more, name_of, too_slow.append)
                if found := [rows async for _, rows in asking]:
                    self.computed[kind] += 1
                    return list(self._apply(number, kind, {target: found[0].get(target, ())}, waiting))
        return list(self._give_up([place], waiting))

    def names(self) -> list[Names]:
        """Return the names of possible marks: those of the active kinds, and of former ones."""
        present = [_names(kind) for _, kind in sorted(self._kinds.items()) if kind["mode"] == "Manage"]
        return [names for index, names in enumerate(present) if names not in present[:index]] + self.former

    async def retire(self, names: Collection[Names], dirty: Dirty) -> None:
        """Add names of former kinds, and to `dirty` their marks and the policies that may have entries under them."""
        self.former.extend(names)
        if kinds := {one["kind"] for one in names}:
            found = await self._patient.query("policies", {})
            dirty.policies.update(policy for policy in found if parse_key(policy).kind in kinds)
        dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))

    def _places_near(self, change: Notice) -> set[Place]:
        """Return the computed places at changed objects, and at the previous targets of changed policies."""
        near = {str(key) for key in change.keys}
        # Other policies' rows there may differ, too.
        near |= {path[1] for paths in change.was.values() for path in paths if path[0] == "targeted"}
        return {place for key in near for place in self._ledger.targets_of(key)}

    def _take_answer(self, outdated: Outdated, now: Settling) -> None:
        """Put the results of an answer into the ledger; the other places that it names remain to be computed."""
        found = outdated.parts
        now.dirty.policies.update(found.get("policies", ()))
        scopes = {
            (kind, target)
            for kind, targets in found.get("scopes", {}).items()
            if kind in self._kinds
            for target in targets
        }
        now.places |= scopes
        now.places.update(place for key in found.get("objects", ()) for place in self._ledger.targets_of(key))
        asked = self._asked
        if asked is None or asked.change is not outdated.change:
            return
        self._asked = None
        answer = found.get("remediation") or {}
        if "outcomes" in answer:
            # The kept tallies of these policies have the old rows at recomputed targets.
            unkept = {policy for place in scopes - asked.before for policy in self._ledger.policies_at(*place)}
            if asked.kept and asked.version != self._ledger.version:
                unkept |= asked.kept.keys()
            for kind, target in sorted(scopes | asked.before):
                self.computed[kind] += 1
                rows = answer["outcomes"].get(kind, {}).get(target, ())
                if self._replace(asked.number, (kind, target), rows, now.dirty):
                    now.places.discard((kind, target))
                else:
                    now.places.add((kind, target))
            now.places = {place for place in now.places if place[0] in self._kinds}
            if not now.places:  # otherwise other rows of these policies may differ, too
                reports = {(report["item"][0], report["item"][1]): report for report in answer["reports"]}
                out_of_date = unkept & asked.kept.keys()
                now.reports = {
                    item: report
                    for item, report in reports.items()
                    if item[0] == "object" or item[1] not in out_of_date
                }
        self._queries.end(asked.number)

    def _apply(
        self, number: int, kind: str, rows: Mapping[str, Iterable[Any]], waiting: Iterable[Settling]
    ) -> Iterator[Settling]:
        """Put the result of a query into the ledger; yield what is settled then."""
        besides = Settling(None, EVERYTHING, rebuilds=False, is_known=True)
        for target, found in rows.items():
            place, dirty = (kind, target), Dirty()
            if not self._replace(number, place, found, dirty):
                self.hard.add(place)  # everything was dropped meanwhile
                continue
            changes = [change for change in waiting if place in change.places]
            for change in changes or [besides]:
                change.dirty.update(dirty)
            for change in changes:
                change.places.discard(place)
                if self.end_if_settled(change):
                    yield change
        if besides.dirty.policies or besides.dirty.objects:
            yield besides

    def _give_up(self, places: Iterable[Place], waiting: Iterable[Settling]) -> Iterator[Settling]:
        """End the computation of places that have no result; yield what is settled then."""
        left = set(places)
        for change in waiting:
            change.places -= left
            if self.end_if_settled(change):
                yield change

    def _replace(self, number: int, place: Place, rows: Iterable[Any], dirty: Dirty) -> bool:
        """Replace the rows at a place, unless a later query has; return False if everything was dropped meanwhile."""
        if self._queries.is_forgotten(number):
            return False
        if self._queries.is_newest(number, place):
            dirty.update(self._ledger.replace(*place, rows))
        return True

    def _size_of(self, owner: str) -> BatchSize:
        return self._sizes.setdefault(owner, BatchSize(TARGETS_BATCH))

    async def _active_kinds(self) -> dict[str, Any]:
        # The document that queries use, not the rule behind it: its update comes with a separate notice.
        kinds = await self._opa.get("kinds") or {}
        return {name: kind for name, kind in kinds.items() if kind["mode"] == "Manage" or self.observes}

    def _retire(self, kinds: Mapping[str, Any]) -> None:
        """Remember the names of kinds that are no longer active."""
        present = [_names(kind) for kind in kinds.values() if kind["mode"] == "Manage"]
        self.former += [names for names in self.names() if names not in (*present, *self.former)]

    async def _describe_kinds(self, now: Settling) -> None:
        """Drop the results of changed policy kinds, and add the places of their policies to a change."""
        former = self._kinds
        kinds = await self._active_kinds()
        self._retire(kinds)
        try:
            policies = await self._drop_described(kinds, now.dirty)
            self._kinds = kinds
            await self._find_places(policies, now)
        except OpaError:
            self._kinds = former
            raise
        now.is_known = True

    async def _drop_described(self, kinds: Mapping[str, Any], dirty: Dirty) -> list[str]:
        """Drop the results of changed policy kinds; return their policies, to compute them."""
        policies: list[str] = []
        differing = {kind for kind in self._kinds.keys() | kinds.keys() if self._kinds.get(kind) != kinds.get(kind)}
        if differing:
            # The marks of the previous description.
            dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))
            self._queries.forget()
        for kind in differing:
            dirty.update(self._ledger.drop(kind))
            if kind in kinds:
                policies += await self._patient.query("policies", {"policyKind": kind})
        dirty.policies.update(policies)
        return policies

    async def _find_places(self, policies: Iterable[str], now: Settling) -> None:
        """Add the effective targets of the counted policies to a change."""
        waiting = deque(policy for policy in policies if parse_key(policy).type_id in self._kinds)
        size = BatchSize(TARGETS_BATCH, first=POLICIES)
        clock = asyncio.get_running_loop().time  # tests stop it
        while waiting:
            batch = size.take(waiting)
            began = clock()
            for kind, targets in (await self._patient.query("scopes", {"policies": batch})).items():
                now.places.update((kind, target) for target in targets)
            size.learn(len(batch), clock() - began)


class _Queries:
    """Numbers queries at the same time, so an older answer never replaces a newer one at the same place."""

    def __init__(self) -> None:
        self._number = 0
        self._running: set[int] = set()
        self._newest: dict[Place, int] = {}  # the query whose answer counts, while any is running
        self._forgotten = 0

    def begin(self) -> int:
        """Return the number of a query that begins now; `end` must follow."""
        self._number += 1
        self._running.add(self._number)
        return self._number

    def end(self, number: int) -> None:
        """Note that the answer was processed, or that there is none."""
        self._running.discard(number)
        if not self._running:
            self._newest.clear()

    @contextmanager
    def running(self) -> Iterator[int]:
        """Begin a query that ends with the block."""
        number = self.begin()
        try:
            yield number
        finally:
            self.end(number)

    def forget(self) -> None:
        """Let no answer of a query that is running count."""
        self._forgotten = self._number
        self._newest.clear()

    def is_forgotten(self, number: int) -> bool:
        """Return whether the answer of a query is ignored."""
        return number <= self._forgotten

    def is_newest(self, number: int, place: Place) -> bool:
        """Return whether an answer counts at a place, and remember that it does."""
        if number < self._newest.get(place, 0):
            return False
        self._newest[place] = number
        return True


def _names(kind: Mapping[str, Any]) -> Names:
    return {"controllerName": kind["controllerName"], "kind": kind["kind"]}
