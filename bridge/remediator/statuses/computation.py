"""Changed objects -> their effective targets -> the outcome of each policy there -> the ledger."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any

from bridge.model.changes import Notice
from bridge.opa.batches import BatchSize, at_targets_of, parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected, OpaTimeout
from bridge.remediator.sink import Names
from bridge.remediator.statuses.ledger import Dirty, Ledger, Tallies

TARGETS_BATCH = 1_000  # effective targets of a query
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
        self._observes = False
        self.kinds_differ = True  # whether the counted kinds may differ

    @property
    def observes(self) -> bool:
        """Return whether kinds in mode Observe, which are never written, are counted too."""
        return self._observes

    @observes.setter
    def observes(self, value: bool) -> None:
        self.kinds_differ |= value != self._observes
        self._observes = value

    def concerns_all(self, notice: Notice) -> bool:
        """Return whether this change must be computed alone: it may affect every policy of a kind."""
        return self.kinds_differ or notice.kinds or notice.refilled

    async def settle(
        self, notice: Notice, dirty: Dirty, reports: dict[Item, Report], size: BatchSize | None = None
    ) -> AsyncGenerator[None]:
        """Compute a change; add the policies and objects whose status may differ now to `dirty`.

        Adds OPA's reports from the computation to `reports`. Yields before each further query, so others can have their
        turn; `size` adapts to the duration of queries. After an error call it again with the same change: results until
        then are already in `dirty`.
        """
        self.kinds_differ |= notice.kinds or notice.refilled
        observes = self._observes
        kinds = await self._active_kinds() if self.kinds_differ else self._kinds
        self._retire(kinds)
        if notice.refilled:
            scopes = await self._everything(dirty)
        else:
            dirty.note(map(str, (*notice.keys, *notice.reported)))
            scopes = await self._all_described(kinds, dirty)
            if notice.keys:
                reports |= await self._remediate(notice, kinds, scopes, dirty)
                if any(scopes[kind] for kind in scopes.keys() & kinds.keys()):
                    yield
        async for _ in self._compute(kinds, scopes, dirty, size or BatchSize(TARGETS_BATCH)):
            yield
        self._kinds, self.kinds_differ = kinds, observes != self._observes  # it may have changed meanwhile

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

    async def retire(self, names: Iterable[Names], dirty: Dirty) -> None:
        """Add names of former kinds, and their marks to `dirty`."""
        self.former.extend(names)
        dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))

    async def _active_kinds(self) -> dict[str, Any]:
        # The document that queries use, not the rule behind it: its update comes with a separate notice.
        kinds = await self._opa.get("kinds") or {}
        return {name: kind for name, kind in kinds.items() if kind["mode"] == "Manage" or self.observes}

    def _retire(self, kinds: Mapping[str, Any]) -> None:
        """Remember the names of kinds that are no longer active."""
        present = [_names(kind) for kind in kinds.values() if kind["mode"] == "Manage"]
        self.former += [names for names in self.names() if names not in (*present, *self.former)]

    async def _everything(self, dirty: Dirty) -> _Scopes:
        self._ledger.clear()
        self._recomputing.clear()
        dirty.policies.update(await self._patient.query("policies", {}), await self._patient.query("policykinds", {}))
        dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))
        return {kind: set(targets) for kind, targets in (await self._patient.query("scopes", {})).items()}

    async def _all_described(self, kinds: Mapping[str, Any], dirty: Dirty) -> _Scopes:
        """Drop the results of changed policy kinds; return the scopes to compute for them."""
        scopes: _Scopes = {}
        differing = {kind for kind in self._kinds.keys() | kinds.keys() if self._kinds.get(kind) != kinds.get(kind)}
        if differing:
            # The marks of the previous description.
            dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))
            self._recomputing.clear()
        for kind in differing:
            dirty.update(self._ledger.drop(kind))
            if kind in kinds:
                dirty.policies.update(await self._patient.query("policies", {"policyKind": kind}))
                scopes[kind] = set((await self._patient.query("scopes", {"policyKind": kind}))[kind])
        return scopes

    async def _remediate(
        self, notice: Notice, kinds: Mapping[str, Any], scopes: _Scopes, dirty: Dirty
    ) -> dict[Item, Report]:
        """Compute a small change in one query, and return its reports.

        Adds scopes that remain to be computed to `scopes`: all of a large change.
        """
        near = {str(key) for key in notice.keys} | _targeted_before(notice)
        before = {place for key in near for place in self._ledger.targets_of(key)}
        kept = self._ledger.tallies_without(before) if len(before) <= SMALL and not scopes else None
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
                if not await self._opa.ready():
                    raise
            else:
                return found
        # In parts, so a target that cannot be computed affects no other one.
        found = await self._opa.query("dependents", change)
        return found

    async def _compute(
        self, kinds: Mapping[str, Any], scopes: _Scopes, dirty: Dirty, size: BatchSize
    ) -> AsyncGenerator[None]:
        """Compute effective targets; yield before each further query. Adds those that take too long to `slow`."""
        further = False
        for kind in sorted(scopes.keys() & kinds.keys()):
            waiting = deque(sorted(scopes[kind]))
            clock = asyncio.get_running_loop().time  # tests stop it
            while waiting:
                if further:
                    yield
                further = True
                targets = [waiting.popleft() for _ in range(min(size.now, len(waiting)))]
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


def _targeted_before(notice: Notice) -> set[str]:
    """Return the previous targets of changed policies: other policies' rows there may differ too."""
    return {path[1] for paths in notice.was.values() for path in paths if path[0] == "targeted"}


def _names(kind: Mapping[str, Any]) -> Names:
    return {"controllerName": kind["controllerName"], "kind": kind["kind"]}
