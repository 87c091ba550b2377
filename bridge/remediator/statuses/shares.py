"""Waiting changes: namespaces take turns, so one with many changes delays only its own."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from bridge import tracing
from bridge.model.changes import Notice, merge_notices
from bridge.model.keys import Key
from bridge.opa.batches import BatchSize
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaTimeout
from bridge.pacing import delay_after
from bridge.remediator.statuses.computation import TARGETS_BATCH, Computing, Item, Report
from bridge.remediator.statuses.ledger import Dirty
from bridge.remediator.writer import FIRST_DELAY, LONGEST_DELAY

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
        if self._all is None and not notice.refilled and not notice.kinds and (notice.keys or notice.reported):
            for namespace, own in _by_namespace(notice).items():
                self._shares.setdefault(namespace, _Share()).notices.append(own)
            return
        self._all = self._all or _Share()
        self._all.notices.append(notice)

    def concern(self, key: str) -> bool:
        """Return whether an object's change is not complete: its result may be computed in part."""
        return key in self._waiting

    def clear(self) -> None:
        """Drop all changes, because everything is about to be computed."""
        self._waiting.clear()
        self._shares.clear()
        self._all = None
        self._timeouts.clear()
        self._generation += 1

    async def step(self) -> SettledShare | None:
        """Compute until OPA's next response; return a completed change. Raises OpaError, and keeps the change."""
        namespace, share = self._turn()
        generation = self._generation
        if share.current is None or share.running is None:
            notices, share.notices = _first(share.notices, together=share is self._all)
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
            self._forget_timeouts(current.notice)
            self._forget_waiting(current.notice, current.noted)
            self._end_turn(namespace, share)
            return current
        except OpaError as error:
            slow = await self._is_slow(error, current.notice)
            if generation == self._generation:
                share.current = share.running = None
                share.dirty.update(current.dirty)
                if slow:
                    # Dirty items are reported as far as they are known.
                    dirty, share.dirty = share.dirty, Dirty()
                    share.notices[:0] = self._parted(current.notice, error)
                    self._end_turn(namespace, share)
                    return SettledShare(Notice(), dirty)
                share.notices.insert(0, current.notice)
            raise
        if generation == self._generation:
            share.spent += clock() - began
            self._end_turn(namespace, share)
        return None

    def _turn(self) -> tuple[str, _Share]:
        if self._all is None:
            namespace = next(iter(self._shares))
            share = self._shares[namespace]
            first = share.current.notice if share.current else share.notices[0]
            if not self._computing.concerns_all(first):
                return self._with_others(namespace, share)
        everything = self._all = self._all or _Share()
        if self._shares:
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

    async def _is_slow(self, error: OpaError, notice: Notice) -> bool:
        """Return whether this change takes too long, while OPA responds to others."""
        return isinstance(error, OpaTimeout) and bool(notice.keys) and not notice.refilled and await self._opa.ready()

    def _parted(self, notice: Notice, error: OpaError) -> list[Notice]:
        """Return the halves of a change that takes too long; a change of one object waits, with growing delays."""
        if len(notice.keys) > 1:
            half = len(notice.keys) // 2
            return [_part(notice, notice.keys[:half], notice.reported), _part(notice, notice.keys[half:], ())]
        (key,) = notice.keys
        self._timeouts[key] += 1
        self._forget_waiting(notice, self._noted)  # its status shows the known state
        delay = delay_after(self._timeouts[key], FIRST_DELAY, LONGEST_DELAY)
        log.warning("change computation timed out", key=str(key), retry_seconds=delay, why=str(error))
        asyncio.get_running_loop().call_later(delay, self._again, notice, self._generation)
        return []

    def _again(self, notice: Notice, generation: int) -> None:
        if generation == self._generation:
            self.note(notice)
            self._wake()

    def _forget_waiting(self, notice: Notice, noted: int) -> None:
        # A full sync covers the changes before it, and names none.
        for key in list(self._waiting) if notice.refilled else map(str, notice.keys):
            if self._waiting.get(key, noted + 1) <= noted:
                del self._waiting[key]

    def _forget_timeouts(self, notice: Notice) -> None:
        for key in notice.keys if self._timeouts else ():
            self._timeouts.pop(key, None)


def _first(notices: list[Notice], *, together: bool) -> tuple[list[Notice], list[Notice]]:
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


def _by_namespace(notice: Notice) -> dict[str, Notice]:
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
        namespace: _part(notice, keys.get(namespace, ()), reported.get(namespace, ()), alone=notice.alone)
        for namespace in keys.keys() | reported.keys()
    }


def _part(notice: Notice, keys: Sequence[Key], reported: Sequence[Key], *, alone: bool = True) -> Notice:
    was = {key: notice.was[key] for key in keys if key in notice.was}
    return Notice(tuple(keys), tuple(reported), was, kinds=notice.kinds, alone=alone, traces=notice.traces)
