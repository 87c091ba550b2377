"""The answers of a view: what an OPA without objects looks up (`rego/edge`), kept by object and computed by OPA.

A change costs the objects whose answers it may change; Rego names these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog

from bridge.model.views import View
from bridge.opa.batches import PART_LIMIT, batches, in_halves, in_parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.replicator.documents import Path
from bridge.replicator.slices import Slice, evaluate_documents, input_of_view, set_at

log = structlog.get_logger(__name__)

ANSWERS = "bridge/table"  # the document of an edge
_PARTS = ("targets", "rows", "entries", "listeners", "hosts", "matches", "rules", "served")  # of the document
_KINDS = "active = object.keys(data.kinds); in_use = data.bridge.kinds.in_use"
_BATCH = 20  # objects of a query: OPA commits no write while it evaluates one, about 0.1 s
_CHANGES = 100  # changed objects of a query
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
            if not self._stale and not self._above:
                break
            is_last = len(self._stale) <= _BATCH
            await self._compute()
            if is_last:
                break

    async def read(self) -> Slice:
        """Return the answers, all of one state of OPA, which must not change meanwhile. Raises OpaError."""
        found = await self._find_stale()
        await self._compute()
        kinds = await evaluate_documents(self._opa, _KINDS)
        marks = frozenset(found["marks"])
        if not found["roots"]:
            return Slice({}, 0, marks)
        answers: dict[str, Any] = {"kinds": kinds} | {name: {} for name in _PARTS}
        for entries in self._answers.values():
            for path, value in entries.items():
                set_at(answers, path, value)
        return Slice({ANSWERS: answers}, len(self._answers), marks)

    async def _find_stale(self) -> Mapping[str, Any]:
        """Return the keys of the view; what differs since the last call, or is not known, is stale."""
        found: dict[str, Any] = await self._opa.query("view_keys", input_of_view(self._view))
        keys = frozenset(found["keys"])
        # Answers are about objects of the view only, so one that joins or leaves it counts as changed.
        for key in (keys ^ self._keys) if self._answers else ():
            self.add_change(key, ())
        (changed, self._changed), (revisions, self._revisions) = (self._changed, {}), (self._revisions, {})
        try:
            objects, above = await self._find_affected(changed) if self._answers else (set(), set())
        except BaseException:
            for key, paths in changed.items():
                self.add_change(key, paths, revisions[key])
            raise
        self._keys, self._below = keys, frozenset(found["below"])  # not before OPA has said what these changes concern
        self._stale = ((self._stale | objects) & self._below) | (self._below - self._answers.keys())
        self._above = ((self._above | above) & self._below) - self._stale
        gone = self._answers.keys() - self._below
        self._opa.failures.drop("answers", gone)
        for key in gone:
            del self._answers[key]
        return found

    async def _find_affected(self, changed: Mapping[str, set[Path]]) -> tuple[set[str], set[str]]:
        """Return the objects to compute again, and those above. Without an answer about a change: all."""
        objects: set[str] = set()
        above: set[str] = set()

        async def send(keys: Sequence[str]) -> Any:
            change = {"keys": keys, "was": {key: changed[key] for key in keys}, "wanted": {"answers": {}}}
            return (await self._opa.query("outdated", change))["answers"]

        groups = batches(sorted(changed), _CHANGES)
        async for keys, affected in in_halves(self._opa, groups, send, limit_after_timeout=PART_LIMIT):
            if isinstance(affected, OpaError):
                log.warning("answers of a view computed again", view=self._view.name, key=keys[0], why=str(affected))
                self._answers = {}
                return set(), set()
            objects.update(affected["objects"])
            above.update(affected["above"])
        return objects, above

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
