"""Changed objects -> their effective targets -> the outcome of each policy there -> the ledger.

Namespaces with waiting changes take turns, so one with many changes delays only its own.
"""

import asyncio
import functools
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from bridge import tracing
from bridge.model.changes import Notice, merge_notices
from bridge.model.keys import Key, parse_key
from bridge.opa.batches import at_targets_of, parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaTimeout
from bridge.remediator.ledger import Dirty, Ledger, Tallies
from bridge.remediator.writer import Names
from bridge.work import FAILED, BatchSize, delay_after

TARGETS_BATCH = 1_000  # effective targets of a query
POLICIES = 20  # policies of the first query for effective targets: those of Gateways have thousands
SMALL = 100  # effective targets that the query `remediation` computes together with their statuses

Item = tuple[str, str]  # ("policy" or "object", key)
# desired and current status of an item, in the form of the query `reports`; without `desired`
Report = Mapping[str, Any]
# there is no status to write
_Scopes = dict[str, set[str]]  # effective targets by policy kind
Place = tuple[str, str]  # (policy kind, effective target)


class Computing:
    """Updates a ledger with OPA, at the cost of each change."""

    def __init__(self, opa: Opa, ledger: Ledger, patient: Opa | None = None) -> None:
        """`patient` is a client with a longer timeout for queries about everything."""
        self._opa = opa
        self._patient = patient or opa
        self._recomputing: set[Place] = set()  # targets without a result for the newest state of OPA yet
        self.slow: set[Place] = set()  # targets that took too long; a retry removes them
        self._ledger = ledger
        self._kinds: Mapping[str, Any] = {}  # the counted kinds, as of the computation of the ledger's rows
        self.computed: Counter[str] = Counter()  # effective targets that were computed, by policy kind
        self.former: list[Names] = []  # former kinds: their conditions may still exist
        self.observes = False  # whether kinds in mode Observe, which are never written, are counted too
        self.kinds_differ = True  # whether the counted kinds may differ
        self.partial = False  # whether rows are missing: everything, or all of a kind, is being computed

    async def settle(
        self, notice: Notice, dirty: Dirty, reports: dict[Item, Report], size: BatchSize | None = None
    ) -> AsyncGenerator[None]:
        """Compute a change; add the policies and objects whose status may differ now to `dirty`.

        Adds OPA's reports from the computation to `reports`. Yields before each further query, so others can have their
        turn; `size` adapts to the duration of queries. After an error call it again with the same change: results until
        then are already in `dirty`.
        """
        self.kinds_differ |= notice.kinds or notice.refilled
        size = size or BatchSize(TARGETS_BATCH)
        if self.kinds_differ:
            async for _ in self._settle_all(notice, dirty, reports, size):
                yield
            return
        dirty.note(map(str, (*notice.keys, *notice.reported)))
        scopes: _Scopes = {}
        if notice.keys:
            reports |= await self._remediate(notice, scopes, dirty)
            if any(scopes[kind] for kind in scopes.keys() & self._kinds.keys()):
                yield
        async for _ in self._compute(scopes, dirty, size):
            yield

    async def _settle_all(
        self, notice: Notice, dirty: Dirty, reports: dict[Item, Report], size: BatchSize
    ) -> AsyncGenerator[None]:
        """Compute a change that may affect every policy of a kind. After the first yield others may have turns."""
        former, observes = self._kinds, self.observes
        kinds = await self._active_kinds()
        self._retire(kinds)
        self.partial = True
        scopes: _Scopes = {}
        try:
            if notice.refilled:
                policies = await self._drop_everything(dirty)
            else:
                dirty.note(map(str, (*notice.keys, *notice.reported)))
                policies = await self._drop_described(kinds, dirty)
            self._kinds, self.kinds_differ = kinds, observes != self.observes  # a follower may have come
            async for _ in self._find_scopes(policies, scopes):
                yield
            if notice.keys and not notice.refilled:
                reports |= await self._remediate(notice, scopes, dirty)
                yield
            async for _ in self._compute(scopes, dirty, size):
                yield
        except OpaError:
            self._kinds, self.kinds_differ, self.partial = former, True, False
            raise
        self.partial = False

    async def recompute(self, place: Place, dirty: Dirty) -> None:
        """Compute one effective target again, in addition to the current computation. Raises OpaError."""
        kind, target = place
        if kind not in self._kinds:
            return
        self._recomputing.add(place)
        rows = await self._opa.query("outcomes", {"policyKind": kind, "targets": [target]})
        if place in self._recomputing:
            self._replace(place, rows.get(target, ()), dirty)

    def _replace(self, place: Place, rows: Iterable[Any], dirty: Dirty) -> None:
        self._recomputing.discard(place)
        dirty.update(self._ledger.replace(*place, rows))

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

    async def _active_kinds(self) -> dict[str, Any]:
        # The document that queries use, not the rule behind it: its update comes with a separate notice.
        kinds = await self._opa.get("kinds") or {}
        return {name: kind for name, kind in kinds.items() if kind["mode"] == "Manage" or self.observes}

    def _retire(self, kinds: Mapping[str, Any]) -> None:
        """Remember the names of kinds that are no longer active."""
        present = [_names(kind) for kind in kinds.values() if kind["mode"] == "Manage"]
        self.former += [names for names in self.names() if names not in (*present, *self.former)]

    async def _drop_everything(self, dirty: Dirty) -> list[str]:
        """Drop all results; return the policies to compute."""
        self._ledger.clear()
        self._recomputing.clear()
        policies: list[str] = await self._patient.query("policies", {})
        dirty.policies.update(policies, await self._patient.query("policykinds", {}))
        dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))
        return policies

    async def _find_scopes(self, policies: Iterable[str], scopes: _Scopes) -> AsyncGenerator[None]:
        """Add the effective targets of the counted policies to `scopes`; yield after each query."""
        waiting = deque(policy for policy in policies if parse_key(policy).type_id in self._kinds)
        size = BatchSize(TARGETS_BATCH, first=POLICIES)
        clock = asyncio.get_running_loop().time  # tests stop it
        while waiting:
            batch = size.take(waiting)
            began = clock()
            for kind, targets in (await self._patient.query("scopes", {"policies": batch})).items():
                if targets:
                    scopes.setdefault(kind, set()).update(targets)
            size.learn(len(batch), clock() - began)
            yield

    async def _drop_described(self, kinds: Mapping[str, Any], dirty: Dirty) -> list[str]:
        """Drop the results of changed policy kinds; return their policies, to compute them."""
        policies: list[str] = []
        differing = {kind for kind in self._kinds.keys() | kinds.keys() if self._kinds.get(kind) != kinds.get(kind)}
        if differing:
            # The marks of the previous description.
            dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))
            self._recomputing.clear()
        for kind in differing:
            dirty.update(self._ledger.drop(kind))
            if kind in kinds:
                policies += await self._patient.query("policies", {"policyKind": kind})
        dirty.policies.update(policies)
        return policies

    async def _remediate(self, notice: Notice, scopes: _Scopes, dirty: Dirty) -> dict[Item, Report]:
        """Compute a small change in one query, and return its reports.

        Adds scopes that remain to be computed to `scopes`: all of a large change.
        """
        kinds = self._kinds
        near = {str(key) for key in notice.keys}
        # Other policies' rows at the previous targets of changed policies may differ, too.
        near |= {path[1] for paths in notice.was.values() for path in paths if path[0] == "targeted"}
        before = {place for key in near for place in self._ledger.targets_of(key)}
        kept: Tallies | None = None
        if len(before) <= SMALL and not scopes:
            # Without kept tallies OPA counts all of a policy, and reports only those whose targets the change covers.
            kept = {} if self.partial else self._ledger.tallies_without(before)
        found = await self._ask(notice, before, kept)
        dirty.policies.update(found["policies"])
        for kind, targets in found["scopes"].items():
            scopes.setdefault(kind, set()).update(targets)
        for key in found["objects"]:
            for kind, target in self._ledger.targets_of(key):
                scopes.setdefault(kind, set()).add(target)
        if kept is None or "outcomes" not in found:
            return {}
        computed = {(kind, target) for kind, targets in found["scopes"].items() if kind in kinds for target in targets}
        computed |= before
        # The kept tallies of these policies have the old rows at recomputed targets.
        outdated = {policy for kind, target in computed - before for policy in self._ledger.policies_at(kind, target)}
        outdated &= kept.keys()
        for kind, target in sorted(computed):
            self.computed[kind] += 1
            scopes.get(kind, set()).discard(target)
            self._replace((kind, target), found["outcomes"].get(kind, {}).get(target, ()), dirty)
        if any(scopes[kind] for kind in scopes.keys() & kinds.keys()):
            return {}  # other rows of these policies may differ, too
        reports = {(report["item"][0], report["item"][1]): report for report in found["reports"]}
        return {item: report for item, report in reports.items() if item[0] == "object" or item[1] not in outdated}

    async def _ask(self, notice: Notice, before: Iterable[Place], kept: Tallies | None) -> dict[str, Any]:
        """Return the effects of a change; for a small one (`kept` is not None) with all results."""
        keys = [str(key) for key in notice.keys]
        change = {"keys": keys, "was": {str(key): paths for key, paths in notice.was.items()}}
        found: dict[str, Any]
        if kept is not None:
            targets: _Scopes = {}
            for kind, target in before:
                targets.setdefault(kind, set()).add(target)
            known = {"targets": targets, "kept": kept, "former": self.former}
            try:
                found = await self._opa.query(
                    "remediation", {**change, **known, "observed": self.observes, "most": SMALL}
                )
            except OpaRejected as error:
                if not error.in_evaluation:
                    raise
            except OpaTimeout:
                if not await self._opa.is_ready():
                    raise
            else:
                return found
        # In parts, so a target that cannot be computed affects no other one.
        wanted: dict[str, Any] = {"scopes": {}, "objects": {}, "policies": {}}
        found = await self._opa.query("outdated", {**change, "wanted": wanted})
        return found

    async def _compute(self, scopes: _Scopes, dirty: Dirty, size: BatchSize) -> AsyncGenerator[None]:
        """Compute effective targets; yield before each further query. Adds those that take too long to `slow`."""
        further = False
        for kind in sorted(scopes.keys() & self._kinds.keys()):
            waiting = deque(sorted(scopes[kind]))
            clock = asyncio.get_running_loop().time  # tests stop it
            while waiting:
                if further:
                    yield
                further = True
                targets = size.take(waiting)
                self.computed[kind] += len(targets)
                too_slow = functools.partial(self._note_slow, kind)
                began = clock()
                more, name_of = {"policyKind": kind}, at_targets_of(kind)
                answers = parts(self._opa, "outcomes", "targets", targets, more, name_of, too_slow)
                async for computed, rows in answers:
                    size.learn(len(computed), clock() - began)
                    for target in computed:
                        self._replace((kind, target), rows.get(target, ()), dirty)
                    if len(computed) < len(targets):
                        yield  # the others are queried in parts
                    began = clock()

    def _note_slow(self, kind: str, target: str) -> None:
        self.slow.add((kind, target))


def _names(kind: Mapping[str, Any]) -> Names:
    return {"controllerName": kind["controllerName"], "kind": kind["kind"]}


log = structlog.get_logger(__name__)

KEYS = 500  # changed objects of one namespace that are computed together
FEW = 100  # changed objects of several namespaces that are computed together
LONG = 0.2  # seconds of a computation, after which a namespace has turns of its own
_TOGETHER = ""  # in place of a namespace


@dataclass(slots=True)
class SettledShare:
    """What a change came to: whose status may differ, and the reports that OPA gave already."""

    notice: Notice
    dirty: Dirty = field(default_factory=Dirty)
    noted: int = 0  # the last change before the computation began
    reports: dict[Item, Report] = field(default_factory=dict)
    traces: tuple[Any, ...] = ()  # the span of its computation


@dataclass(slots=True)
class _Share:
    """The changes of one namespace: those that wait, and the ones that are being computed."""

    notices: list[Notice] = field(default_factory=list)
    current: SettledShare | None = None
    running: AsyncGenerator[None] | None = None
    spent: float = 0.0  # seconds on the current one
    members: set[str] = field(default_factory=set)  # the namespaces, where small changes of several go together
    size: BatchSize = field(default_factory=lambda: BatchSize(TARGETS_BATCH))
    dirty: Dirty = field(default_factory=Dirty)  # of changes whose computation failed, and begins again


class Shares:
    """Computes changes by `computing`, a query of each namespace in turn.

    A change that may affect everything (a policy kind, a sync) includes all waiting changes. The object calls `wake`
    when a change that took too long is due again.
    """

    def __init__(self, computing: Computing, opa: Opa, wake: Callable[[], None]) -> None:
        self._computing = computing
        self._opa = opa
        self._wake = wake
        self._shares: OrderedDict[str, _Share] = OrderedDict()  # by namespace, whose turn it is in front
        self._all: _Share | None = None  # the change that affects everything
        self._others = False  # whether another one had the last turn beside it
        self._timeouts: Counter[Key] = Counter()
        self._long: set[str] = set()  # namespaces whose last computation was long
        self._generation = 0
        self._noted = 0  # received changes
        self._waiting: dict[str, int] = {}  # objects whose last change is not settled, with its number

    def __bool__(self) -> bool:
        return bool(self._shares) or self._all is not None

    def note(self, notice: Notice) -> None:
        """Add a change."""
        self._noted += 1
        self._waiting.update(dict.fromkeys(map(str, notice.keys), self._noted))
        if not notice.refilled and not notice.kinds and (notice.keys or notice.reported):
            for namespace, own in _split_by_namespace(notice).items():
                self._shares.setdefault(namespace, _Share()).notices.append(own)
            return
        self._all = self._all or _Share()
        self._all.notices.append(notice)

    def is_waiting(self, key: str) -> bool:
        """Return whether an object's change is not complete: its result may be computed in part."""
        return key in self._waiting

    def clear(self) -> None:
        """Drop all changes, because everything is about to be computed."""
        self._waiting.clear()
        self._shares.clear()
        self._all = None
        self._computing.partial = False
        self._timeouts.clear()
        self._generation += 1

    async def step(self) -> SettledShare | None:
        """Compute until OPA's next response; return a completed change. Raises OpaError, and keeps the change."""
        namespace, share = self._turn()
        generation = self._generation
        if share.current is None or share.running is None:
            notices, share.notices = _take_first(share.notices, together=share is self._all)
            share.current, share.dirty = SettledShare(merge_notices(notices), share.dirty, self._noted), Dirty()
            now = share.current
            share.running = self._computing.settle(now.notice, now.dirty, now.reports, share.size)
            share.spent = 0.0
        current = share.current
        clock = asyncio.get_running_loop().time  # tests stop it
        began = clock()
        try:
            with tracing.span("compute statuses", links=current.notice.traces):
                current.traces = tracing.current()
                await anext(share.running)
        except StopAsyncIteration:
            share.spent += clock() - began
            if generation != self._generation:
                return None
            self._learn(namespace, share)
            share.current = share.running = None
            for key in current.notice.keys if self._timeouts else ():
                del self._timeouts[key]  # a Counter has no error for a missing key
            self._forget_waiting(current.notice, current.noted)
            self._end_turn(namespace, share)
            return current
        except OpaError as error:
            parts = isinstance(error, OpaTimeout) and bool(current.notice.keys) and not current.notice.refilled
            slow = parts and await self._opa.is_ready()  # otherwise OPA does not respond to others either
            if generation == self._generation:
                share.current = share.running = None
                share.dirty.update(current.dirty)
                if slow:
                    # Dirty items are reported as far as they are known.
                    dirty, share.dirty = share.dirty, Dirty()
                    share.notices[:0] = self._halve(current.notice, error)
                    self._end_turn(namespace, share)
                    return SettledShare(Notice(), dirty)
                share.notices.insert(0, current.notice)
            raise
        if generation == self._generation:
            share.spent += clock() - began
            self._end_turn(namespace, share)
        return None

    def _turn(self) -> tuple[str, _Share]:
        everything = self._all
        beside = self._computing.partial and everything is not None and not everything.notices and not self._others
        if everything is None or (beside and self._shares):
            namespace = next(iter(self._shares))
            share = self._shares[namespace]
            first = share.current.notice if share.current else share.notices[0]
            # A change that may affect every policy of a kind is computed alone.
            if not (self._computing.kinds_differ or first.kinds or first.refilled):
                self._others = True
                return self._with_others(namespace, share)
        self._others = False
        everything = self._all = everything or _Share()
        if self._shares and everything.current is None:
            # All waiting changes are computed with it: the kind's description may have changed.
            for share in self._shares.values():
                if share.current:
                    everything.notices.append(share.current.notice)
                    everything.dirty.update(share.current.dirty)
                everything.dirty.update(share.dirty)
                everything.notices += share.notices
            self._shares.clear()
        return "", everything

    def _with_others(self, namespace: str, share: _Share) -> tuple[str, _Share]:
        """Return the next share, with small changes of namespaces behind it that were quick so far."""
        quick: list[str] = []
        keys = 0
        for name, other in self._shares.items():
            size = sum(len(notice.keys) for notice in other.notices)
            if other.current or name in self._long or keys + size > FEW or any(one.alone for one in other.notices):
                if not quick:
                    return namespace, share
                continue
            quick.append(name)
            keys += size
        if len(quick) < 2:
            return namespace, share
        together = self._shares[_TOGETHER] = self._shares.get(_TOGETHER) or _Share()
        for name in quick:
            if name != _TOGETHER:
                member = self._shares.pop(name)
                together.notices += member.notices
                together.dirty.update(member.dirty)
                together.members.add(name)
        self._shares.move_to_end(_TOGETHER, last=False)
        return _TOGETHER, together

    def _learn(self, namespace: str, share: _Share) -> None:
        """Note whether a namespace needs turns of its own."""
        for name in share.members or {namespace}:
            if share.spent > LONG:
                self._long.add(name)
            else:
                self._long.discard(name)
        share.members.clear()

    def _end_turn(self, namespace: str, share: _Share) -> None:
        if share is self._all:
            if not share.notices and share.current is None:
                self._all = None
        elif share.notices or share.current:
            self._shares.move_to_end(namespace)
        else:
            self._shares.pop(namespace, None)

    def _halve(self, notice: Notice, error: OpaError) -> list[Notice]:
        """Return the halves of a change that takes too long; a change of one object waits, with growing delays."""
        if len(notice.keys) > 1:
            half = len(notice.keys) // 2
            return [_cut(notice, notice.keys[:half], notice.reported), _cut(notice, notice.keys[half:], ())]
        (key,) = notice.keys
        self._timeouts[key] += 1
        self._forget_waiting(notice, self._noted)  # its status shows the known state
        delay = delay_after(FAILED, self._timeouts[key])
        log.warning("change computation timed out", key=str(key), retry_seconds=delay, why=str(error))
        asyncio.get_running_loop().call_later(delay, self._note_again, notice, self._generation)
        return []

    def _note_again(self, notice: Notice, generation: int) -> None:
        if generation == self._generation:
            self.note(notice)
            self._wake()

    def _forget_waiting(self, notice: Notice, noted: int) -> None:
        # A full sync covers the changes before it, and names none.
        for key in list(self._waiting) if notice.refilled else map(str, notice.keys):
            if self._waiting.get(key, noted + 1) <= noted:
                del self._waiting[key]


def _take_first(notices: list[Notice], *, together: bool) -> tuple[list[Notice], list[Notice]]:
    """Return the notices to compute next, and the others. Halves of one that took too long stay separate."""
    count, keys = 0, 0
    for notice in notices:
        keys += len(notice.keys)
        if count and (notice.alone or (keys > KEYS and not together)):
            break
        count += 1
        if notice.alone:
            break
    return notices[:count], notices[count:]


def _split_by_namespace(notice: Notice) -> dict[str, Notice]:
    keys: dict[str, list[Key]] = {}
    reported: dict[str, list[Key]] = {}
    for key in notice.keys:
        keys.setdefault(key.namespace, []).append(key)
    for key in notice.reported:
        reported.setdefault(key.namespace, []).append(key)
    if len(keys.keys() | reported.keys()) == 1:
        (namespace,) = keys.keys() | reported.keys()
        return {namespace: notice}
    return {
        namespace: _cut(notice, keys.get(namespace, ()), reported.get(namespace, ()), alone=notice.alone)
        for namespace in keys.keys() | reported.keys()
    }


def _cut(notice: Notice, keys: Sequence[Key], reported: Sequence[Key], *, alone: bool = True) -> Notice:
    was = {key: notice.was[key] for key in keys if key in notice.was}
    return Notice(tuple(keys), tuple(reported), was, kinds=notice.kinds, alone=alone, traces=notice.traces)
