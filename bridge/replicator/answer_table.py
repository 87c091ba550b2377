"""The answers of a view: what an OPA without objects looks up (`rego/edge`), kept by object and computed by OPA.

A change costs the objects whose answers it may change; Rego names these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bridge.model.views import View
from bridge.opa.batches import batches, in_parts
from bridge.opa.client import Opa
from bridge.replicator.documents import Path
from bridge.replicator.slices import Slice, input_of_view, put

ANSWERS = "bridge/table"  # the document of an edge
_PARTS = ("targets", "rows", "entries", "listeners", "hosts", "matches", "rules", "served")  # of the document
_KINDS = "active = object.keys(data.kinds); in_use = data.bridge.kinds.in_use"
_BATCH = 20  # objects of a query: OPA commits no write while it evaluates one, about 0.1 s
_ROUNDS = 3  # computations while OPA changes, before one that makes changes wait


class AnswerTable:
    """The answers of one view. `add_change` takes what concerns it, with previous and current index paths."""

    def __init__(self, view: View, opa: Opa) -> None:
        self._view = view
        self._opa = opa
        self._answers: dict[str, dict[tuple[str, ...], Any]] = {}  # by object and path
        self._changed: dict[str, set[Path]] = {}  # with all index paths that the object had since
        self._revisions: dict[str, int] = {}  # of the last of these changes of each object
        self._stale: set[str] = set()  # objects to compute again
        self._keys: frozenset[str] = frozenset()
        self._below: frozenset[str] = frozenset()  # of these, those with answers: what else is above depends on others
        self._above: set[str] = set()  # those of which only the targets below may differ

    def add_change(self, key: str, paths: Iterable[Path], revision: int = 0) -> None:
        """Add a changed object, as of this revision of OPA's data."""
        self._changed.setdefault(key, set()).update(paths)
        self._revisions[key] = max(revision, self._revisions.get(key, 0))

    def drop_changes(self, revision: int) -> None:
        """Drop changes up to this revision, none of which concerns the view."""
        for key in [key for key, last in self._revisions.items() if last <= revision]:
            del self._changed[key], self._revisions[key]

    def forget(self) -> None:
        """Compute everything again, because kinds, modules or all data are others."""
        self._answers = {}  # a query that runs now fills the former ones
        self._changed.clear()
        self._revisions.clear()

    async def catch_up(self) -> None:
        """Compute most of the answers, while OPA may change. Raises OpaError."""
        for _ in range(_ROUNDS):
            await self._find_stale()
            if len(self._stale) <= _BATCH:
                break
            await self._compute()

    async def read(self) -> Slice:
        """Return the answers, all of one state of OPA, which must not change meanwhile. Raises OpaError."""
        found = await self._find_stale()
        await self._compute()
        [kinds] = await self._opa.evaluate(_KINDS, {})
        marks = frozenset(found["marks"])
        if not found["roots"]:
            return Slice({}, 0, marks)
        answers: dict[str, Any] = {"kinds": kinds} | {name: {} for name in _PARTS}
        for entries in self._answers.values():
            for path, value in entries.items():
                put(answers, path, value)
        return Slice({ANSWERS: answers}, len(self._answers), marks)

    async def _find_stale(self) -> Mapping[str, Any]:
        """Return the keys of the view; what differs since the last call, or is not known, is stale."""
        found: dict[str, Any] = await self._opa.query("view_keys", input_of_view(self._view))
        keys = frozenset(found["keys"])
        # Answers are about objects of the view only, so one that joins or leaves it counts as changed.
        for key in (keys ^ self._keys) if self._answers else ():
            self.add_change(key, ())
        self._keys, self._below = keys, frozenset(found["below"])
        (changed, self._changed), (revisions, self._revisions) = (self._changed, {}), (self._revisions, {})
        try:
            change = {"keys": [*changed], "was": changed, "wanted": {"answers": {}}}
            affected = (await self._opa.query("outdated", change))["answers"]
        except BaseException:
            for key, paths in changed.items():
                self.add_change(key, paths, revisions[key])
            raise
        self._stale = ((self._stale | {*affected["objects"]}) & self._below) | (self._below - self._answers.keys())
        self._above = ((self._above | {*affected["above"]}) & self._below) - self._stale
        gone = self._answers.keys() - self._below
        self._opa.failures.drop("answers", gone)
        for key in gone:
            del self._answers[key]
        return found

    async def _compute(self) -> None:
        within = sorted(self._keys)
        for objects in batches(sorted(self._stale), _BATCH):
            answers = self._answers
            more: dict[str, Any] = {"above": [], "within": within}
            found: dict[str, Any] = {}
            for _, part in await in_parts(self._opa, "answers", "objects", objects, more):
                found |= part
            for key in objects:
                if key not in found:
                    message = f"the evaluation fails: {self._opa.failures.errors.get(('answers', key), 'no reason')}"
                    failed = {**more, "objects": [key], "failure": {"code": "EvaluationFailed", "message": message}}
                    found |= await self._opa.query("answers", failed)
                answers[key] = _entries(found.get(key, ()))
            self._stale.difference_update(objects)
        for above in batches(sorted(self._above), _BATCH):
            answers = self._answers
            found = await self._opa.query("answers", {"objects": [], "above": above, "within": within})
            for key in above:
                others = {path: value for path, value in answers.get(key, {}).items() if path[0] != "targets"}
                answers[key] = others | _entries(found.get(key, ()))
            self._above.difference_update(above)


def _entries(found: Iterable[Any]) -> dict[tuple[str, ...], Any]:
    return {tuple(path): value for path, value in found}
