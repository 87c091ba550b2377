"""Changed objects -> the effective targets that they concern -> what became of each policy there -> the ledger."""

from __future__ import annotations

import functools
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any

from bridge.model.notice import Notice
from bridge.opa.batches import BatchSize, parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected, OpaTimeout
from bridge.remediator.sink import Names
from bridge.remediator.statuses.ledger import Dirty, Ledger, Tallies

TARGETS_BATCH = 1_000  # effective targets a query
SMALL = 100  # effective targets that the query `remediation` computes together with all that follows from them

Item = tuple[str, str]  # ("policy" or "object", key)
Report = Mapping[str, Any]  # what an item should show and does show, as the query `reports` gives it; without `desired`
# there is nothing to show
_Scopes = dict[str, set[str]]  # effective targets by policy kind
Place = tuple[str, str]  # (policy kind, effective target)


class Computing:
    """Keeps a ledger in step with OPA, at the cost of what changed."""

    def __init__(self, opa: Opa, ledger: Ledger, patient: Opa | None = None) -> None:
        """`patient` is a client with time for queries about everything."""
        self._opa = opa
        self._patient = patient or opa
        self._recomputing: set[Place] = set()  # of which no newer state of OPA has been counted since
        self.slow: set[Place] = set()  # which took too long; whoever tries them again takes them out
        self._ledger = ledger
        self._kinds: Mapping[str, Any] = {}  # those that are counted, as the ledger's rows were computed from them
        self.computed: Counter[str] = Counter()  # effective targets that were computed, by policy kind
        self.former: list[Names] = []  # of kinds that were: their conditions may still be shown somewhere
        self._observes = False
        self._kinds_differ = True  # whether the kinds to count may be others

    @property
    def observes(self) -> bool:
        """Whether kinds in mode Observe are counted too, which are written nowhere."""
        return self._observes

    @observes.setter
    def observes(self, value: bool) -> None:
        self._kinds_differ |= value != self._observes
        self._observes = value

    def concerns_all(self, notice: Notice) -> bool:
        """Whether nothing else can be computed beside this change: it may concern every policy of a kind."""
        return self._kinds_differ or notice.kinds or notice.refilled

    async def settle(
        self, notice: Notice, dirty: Dirty, reports: dict[Item, Report], size: BatchSize | None = None
    ) -> AsyncGenerator[None]:
        """Compute what a change concerns; puts the policies and objects whose status may differ now into `dirty`.

        Puts the reports that OPA gave with the computation into `reports`. Gives way before each further query, so that
        others can have their turn; `size` learns how many targets a query takes. After an error call it again with the
        same change: what was computed until then is in `dirty` already.
        """
        self._kinds_differ |= notice.kinds or notice.refilled
        kinds = await self._kinds_in_force() if self._kinds_differ else self._kinds
        self._retire(kinds)
        if notice.refilled:
            scopes = await self._everything(dirty)
        else:
            dirty.note(map(str, (*notice.keys, *notice.reported)))
            scopes = await self._described_anew(kinds, dirty)
            if notice.keys:
                reports |= await self._remediate(notice, kinds, scopes, dirty)
                if any(scopes[kind] for kind in scopes.keys() & kinds.keys()):
                    yield
        async for _ in self._compute(kinds, scopes, dirty, size or BatchSize(TARGETS_BATCH)):
            yield
        self._kinds, self._kinds_differ = kinds, False

    async def recompute(self, place: Place, dirty: Dirty) -> None:
        """Compute one effective target again, beside whatever else is computed. Raises OpaError."""
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
        """Under which names objects may be marked: those of the kinds in force, and of those that were."""
        present = [_names(kind) for _, kind in sorted(self._kinds.items()) if kind["mode"] == "Manage"]
        return [names for index, names in enumerate(present) if names not in present[:index]] + self.former

    async def retire(self, names: Iterable[Names], dirty: Dirty) -> None:
        """Take in names of kinds that were, and put what is marked under them into `dirty`."""
        self.former.extend(names)
        dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))

    async def _kinds_in_force(self) -> dict[str, Any]:
        # The document that queries use, not the rule behind it: an update of it comes with a notice of its own.
        kinds = await self._opa.get("kinds") or {}
        return {name: kind for name, kind in kinds.items() if kind["mode"] == "Manage" or self.observes}

    def _retire(self, kinds: Mapping[str, Any]) -> None:
        """Remember the names under which kinds told of themselves that are no longer active."""
        present = [_names(kind) for kind in kinds.values() if kind["mode"] == "Manage"]
        self.former += [names for names in self.names() if names not in (*present, *self.former)]

    async def _everything(self, dirty: Dirty) -> _Scopes:
        self._ledger.clear()
        self._recomputing.clear()
        dirty.policies.update(await self._patient.query("policies", {}), await self._patient.query("policykinds", {}))
        dirty.objects.update(await self._patient.query("marked_objects", {"former": self.former}))
        return {kind: set(targets) for kind, targets in (await self._patient.query("scopes", {})).items()}

    async def _described_anew(self, kinds: Mapping[str, Any], dirty: Dirty) -> _Scopes:
        """Forget what policy kinds came to that are described otherwise now; the scopes to compute for them."""
        scopes: _Scopes = {}
        differing = {kind for kind in self._kinds.keys() | kinds.keys() if self._kinds.get(kind) != kinds.get(kind)}
        if differing:
            # What was marked when it was described otherwise.
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
        """Compute a small change in one query, and return the reports that come with it.

        Adds what is still to be computed to `scopes`: everything that a large change concerns.
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
        # What was kept of these policies' tallies has the old rows at targets that were computed now.
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
        """What a change concerns; for a small one (`kept` is not None) with all that follows from it."""
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
        # In parts, so that a target that cannot be computed keeps no other one out.
        found = await self._opa.query("dependents", change)
        return found

    async def _compute(
        self, kinds: Mapping[str, Any], scopes: _Scopes, dirty: Dirty, size: BatchSize
    ) -> AsyncGenerator[None]:
        """Compute effective targets; gives way before each further query. Puts those that take too long into `slow`."""
        further = False
        for kind in sorted(scopes.keys() & kinds.keys()):
            waiting = deque(sorted(scopes[kind]))
            while waiting:
                if further:
                    yield
                further = True
                targets = [waiting.popleft() for _ in range(min(size.now, len(waiting)))]
                self.computed[kind] += len(targets)
                too_slow = functools.partial(self._note_slow, kind)
                began = time.perf_counter()
                answers = parts(self._opa, "outcomes", "targets", targets, {"policyKind": kind}, str, too_slow)
                async for computed, rows in answers:
                    size.learn(len(computed), time.perf_counter() - began)
                    for target in computed:
                        self._replace((kind, target), rows.get(target, ()), dirty)
                    if len(computed) < len(targets):
                        yield  # the others are queried in parts
                    began = time.perf_counter()

    def _note_slow(self, kind: str, target: str) -> None:
        self.slow.add((kind, target))


def _targeted_before(notice: Notice) -> set[str]:
    """The objects that changed policies targeted: other policies' rows there may differ too."""
    return {path[1] for paths in notice.was.values() for path in paths if path[0] == "targeted"}


def _names(kind: Mapping[str, Any]) -> Names:
    return {"controllerName": kind["controllerName"], "kind": kind["kind"]}
