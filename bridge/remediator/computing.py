"""Changed objects -> the effective targets that they concern -> what became of each policy there -> the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bridge.model.notice import Notice
from bridge.opa.client import Opa
from bridge.opa.parts import batches, in_parts
from bridge.remediator.ledger import Dirty, Ledger
from bridge.remediator.sink import Names

TARGETS_BATCH = 1_000  # effective targets a query


class Computing:
    """Keeps a ledger in step with OPA, at the cost of what changed."""

    def __init__(self, opa: Opa, ledger: Ledger) -> None:
        self._opa = opa
        self._ledger = ledger
        self._kinds: Mapping[str, Any] = {}  # those that are counted, as the ledger's rows were computed from them
        self.computed: Counter[str] = Counter()  # effective targets that were computed, by policy kind
        self.former: list[Names] = []  # of kinds that were: their conditions may still be shown somewhere
        self.observes = False  # whether kinds in mode Observe are counted too, which are written nowhere

    async def settle(self, notice: Notice, dirty: Dirty) -> None:
        """Compute what a change concerns; puts the policies and objects whose status may differ now into `dirty`.

        After an error it is to be called again with both: what was computed until then is in `dirty` already.
        """
        kinds = await self._kinds_in_force()
        self._retire(kinds)
        if notice.refilled:
            await self._everything(kinds, dirty)
        else:
            dirty.note(map(str, (*notice.keys, *notice.reported)))
            scopes = await self._described_anew(kinds, dirty)
            if notice.keys:
                for kind, targets in (await self._concerned(notice, dirty)).items():
                    scopes.setdefault(kind, set()).update(targets)
            await self._compute(kinds, scopes, dirty)
        self._kinds = kinds

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

    async def _described_anew(self, kinds: Mapping[str, Any], dirty: Dirty) -> dict[str, set[str]]:
        """Forget what policy kinds came to that are described otherwise now; the scopes to compute for them."""
        scopes: dict[str, set[str]] = {}
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

    async def _concerned(self, notice: Notice, dirty: Dirty) -> dict[str, set[str]]:
        keys = [str(key) for key in notice.keys]
        was = {str(key): paths for key, paths in notice.was.items()}
        concerned = await self._opa.query("concerned", {"keys": keys, "was": was})
        dirty.policies.update(concerned["policies"])
        scopes = {kind: set(targets) for kind, targets in concerned["scopes"].items()}
        for key in concerned["objects"]:
            for kind, target in self._ledger.targets_of(key):
                scopes.setdefault(kind, set()).add(target)
        return scopes

    async def _compute(self, kinds: Mapping[str, Any], scopes: Mapping[str, Iterable[str]], dirty: Dirty) -> None:
        for kind in scopes.keys() & kinds.keys():
            ordered = sorted(scopes[kind])
            for targets in batches(ordered, TARGETS_BATCH):
                self.computed[kind] += len(targets)
                for computed, rows in await in_parts(self._opa, "outcomes", "targets", targets, {"policyKind": kind}):
                    for target in computed:
                        dirty.update(self._ledger.replace(kind, target, rows.get(target, ())))


def _names(kind: Mapping[str, Any]) -> Names:
    return {"controllerName": kind["controllerName"], "kind": kind["kind"]}
