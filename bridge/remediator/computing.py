"""Changed objects -> the effective targets that they concern -> what became of each policy there -> the ledger."""

from __future__ import annotations

from bridge.model.notice import Notice
from bridge.opa.client import Opa
from bridge.remediator.ledger import Dirty, Ledger

TARGETS_BATCH = 1_000  # effective targets a query


class Computing:
    """Keeps a ledger in step with OPA, at the cost of what changed."""

    def __init__(self, opa: Opa, ledger: Ledger) -> None:
        self._opa = opa
        self._ledger = ledger
        self._managed: set[str] = set()

    async def settle(self, notice: Notice) -> Dirty:
        """Compute what a change concerns; gives the policies and objects whose status may differ now."""
        if notice.refilled:
            return await self._everything()
        dirty = Dirty()
        dirty.policies.update(str(key) for key in notice.reported)
        dirty.objects.update(str(key) for key in notice.reported)
        if not notice.keys:
            return dirty
        await self._know_kinds()
        keys = [str(key) for key in notice.keys]
        was = {str(key): paths for key, paths in notice.was.items()}
        concerned = await self._opa.query("concerned", {"keys": keys, "was": was})
        scopes: dict[str, set[str]] = {kind: set(targets) for kind, targets in concerned["scopes"].items()}
        for key in keys:
            for kind, target in self._ledger.targets_of(key):
                scopes.setdefault(kind, set()).add(target)
        dirty.policies.update(concerned["policies"], keys)
        dirty.objects.update(keys)
        await self._compute(scopes, dirty)
        return dirty

    async def _everything(self) -> Dirty:
        await self._know_kinds()
        self._ledger.clear()
        dirty = Dirty(policies=set(await self._opa.query("policies", {})), objects=set())
        dirty.policies.update(await self._opa.query("policykinds", {}))
        dirty.objects.update(await self._opa.query("marked", {}))
        await self._compute(await self._opa.query("scopes", {}), dirty)
        return dirty

    async def _know_kinds(self) -> None:
        kinds = await self._opa.query("kinds_in_force", {})
        self._managed = {name for name, kind in kinds.items() if kind["mode"] == "Manage"}

    async def _compute(self, scopes: dict[str, set[str]] | dict[str, list[str]], dirty: Dirty) -> None:
        for kind, targets in scopes.items():
            if kind not in self._managed:
                continue
            ordered = sorted(targets)
            for start in range(0, len(ordered), TARGETS_BATCH):
                batch = ordered[start : start + TARGETS_BATCH]
                rows = await self._opa.query("outcomes", {"policyKind": kind, "targets": batch})
                for target in batch:
                    changed = self._ledger.replace(kind, target, rows.get(target, ()))
                    dirty.policies |= changed.policies
                    dirty.objects |= changed.objects
