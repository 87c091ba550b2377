"""Changed objects -> the effective targets that they concern -> what became of each policy there -> the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bridge.model.notice import Notice
from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected
from bridge.opa.parts import batches, in_parts
from bridge.remediator.ledger import Dirty, Ledger, Tallies
from bridge.remediator.sink import Names

TARGETS_BATCH = 1_000  # effective targets a query
SMALL = 100  # effective targets that the query `remediation` computes together with all that follows from them

Item = tuple[str, str]  # ("policy" or "object", key)
Report = Mapping[str, Any]  # what an item should show and does show, as the query `reports` gives it; without `wanted`
# there is nothing to show
_Scopes = dict[str, set[str]]  # effective targets by policy kind
_Place = tuple[str, str]  # (policy kind, effective target)


class Computing:
    """Keeps a ledger in step with OPA, at the cost of what changed."""

    def __init__(self, opa: Opa, ledger: Ledger) -> None:
        self._opa = opa
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

    async def settle(self, notice: Notice, dirty: Dirty) -> dict[Item, Report]:
        """Compute what a change concerns; puts the policies and objects whose status may differ now into `dirty`.

        Returns the reports that OPA gave with the computation. After an error it is to be called again with both: what
        was computed until then is in `dirty` already.
        """
        self._kinds_differ |= notice.kinds or notice.refilled
        kinds = await self._kinds_in_force() if self._kinds_differ else self._kinds
        self._retire(kinds)
        reports: dict[Item, Report] = {}
        if notice.refilled:
            await self._everything(kinds, dirty)
        else:
            dirty.note(map(str, (*notice.keys, *notice.reported)))
            scopes = await self._described_anew(kinds, dirty)
            if notice.keys:
                reports = await self._remediate(notice, kinds, scopes, dirty)
            await self._compute(kinds, scopes, dirty)
        self._kinds, self._kinds_differ = kinds, False
        return reports

    def names(self) -> list[Names]:
        """Under which names objects may be marked: those of the kinds in force, and of those that were."""
        present = [_names(kind) for _, kind in sorted(self._kinds.items()) if kind["mode"] == "Manage"]
        return [names for index, names in enumerate(present) if names not in present[:index]] + self.former

    async def retire(self, names: Iterable[Names], dirty: Dirty) -> None:
        """Take in names of kinds that were, and put what is marked under them into `dirty`."""
        self.former.extend(names)
        dirty.objects.update(await self._opa.query("marked", {"former": self.former}))

    async def _kinds_in_force(self) -> dict[str, Any]:
        # The document that queries use, not the rule behind it: an update of it comes with a notice of its own.
        kinds = await self._opa.get("kinds") or {}
        return {name: kind for name, kind in kinds.items() if kind["mode"] == "Manage" or self.observes}

    def _retire(self, kinds: Mapping[str, Any]) -> None:
        """Remember the names under which kinds told of themselves that are not in force any more."""
        present = [_names(kind) for kind in kinds.values() if kind["mode"] == "Manage"]
        self.former += [names for names in self.names() if names not in (*present, *self.former)]

    async def _everything(self, kinds: Mapping[str, Any], dirty: Dirty) -> None:
        self._ledger.clear()
        dirty.policies.update(await self._opa.query("policies", {}), await self._opa.query("policykinds", {}))
        dirty.objects.update(await self._opa.query("marked", {"former": self.former}))
        await self._compute(kinds, await self._opa.query("scopes", {}), dirty)

    async def _described_anew(self, kinds: Mapping[str, Any], dirty: Dirty) -> _Scopes:
        """Forget what policy kinds came to that are described otherwise now; the scopes to compute for them."""
        scopes: _Scopes = {}
        differing = {kind for kind in self._kinds.keys() | kinds.keys() if self._kinds.get(kind) != kinds.get(kind)}
        if differing:
            # What was marked when it was described otherwise.
            dirty.objects.update(await self._opa.query("marked", {"former": self.former}))
        for kind in differing:
            dirty.update(self._ledger.drop(kind))
            if kind in kinds:
                dirty.policies.update(await self._opa.query("policies", {"policyKind": kind}))
                scopes[kind] = set((await self._opa.query("scopes", {"policyKind": kind}))[kind])
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
            dirty.update(self._ledger.replace(kind, target, found["outcomes"].get(kind, {}).get(target, ())))
        if any(scopes[kind] for kind in scopes.keys() & kinds.keys()):
            return {}  # other rows of these policies may differ, too
        reports = {(report["item"][0], report["item"][1]): report for report in found["reports"]}
        return {item: report for item, report in reports.items() if item[0] == "object" or item[1] not in outdated}

    async def _ask(self, notice: Notice, before: Iterable[_Place], kept: Tallies | None) -> dict[str, Any]:
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
            else:
                return found
        # In parts, so that a target that cannot be computed keeps no other one out.
        found = await self._opa.query("concerned", change)
        return found

    async def _compute(self, kinds: Mapping[str, Any], scopes: Mapping[str, Iterable[str]], dirty: Dirty) -> None:
        for kind in scopes.keys() & kinds.keys():
            ordered = sorted(scopes[kind])
            for targets in batches(ordered, TARGETS_BATCH):
                self.computed[kind] += len(targets)
                for computed, rows in await in_parts(self._opa, "outcomes", "targets", targets, {"policyKind": kind}):
                    for target in computed:
                        dirty.update(self._ledger.replace(kind, target, rows.get(target, ())))


def _targeted_before(notice: Notice) -> set[str]:
    """The objects that changed policies targeted: other policies' rows there may differ too."""
    return {path[1] for paths in notice.was.values() for path in paths if path[0] == "targeted"}


def _names(kind: Mapping[str, Any]) -> Names:
    return {"controllerName": kind["controllerName"], "kind": kind["kind"]}
