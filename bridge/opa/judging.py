"""Violations of Constraints by many objects, where a policy may fail or take too long at some of them.

Rego has no catch, so one policy that fails would hide what all others find. Such a policy is evaluated alone; an object
at which it fails gets the violation `cannot be judged`, and a policy that is slow at several is not evaluated further.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from bridge.opa.batches import PART_LIMIT, SKIP_MISSING, batches, in_halves, may_succeed_in_part, within
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaTimeout

log = structlog.get_logger(__name__)

Row = dict[str, Any]

BATCH = 100  # objects of a query: 20 guardrails judge them in 0.3 s, far below its limit
_TRIED = 2  # objects at which a policy is tried alone


class Judging:
    """Evaluates Constraints; `more` is further input of the query `violations`, such as changes.

    `limit` are the seconds of one query.
    """

    def __init__(self, opa: Opa, more: Mapping[str, Any] | None = None, limit: float = PART_LIMIT) -> None:
        self._opa = opa
        self._more = more or {}
        self._limit = limit
        self._slow: set[str] = set()  # Constraints that are not evaluated
        self.unjudged: set[tuple[str, str]] = set()  # Constraints and the objects that they could not judge

    async def rows(self, keys: Sequence[str], names: Sequence[str] | None) -> list[Row]:
        """Return the violations by objects of these Constraints, or of all. Raises OpaError if OPA does not answer."""
        return [row for part in batches(keys, BATCH) for row in await self._rows(part, names)]

    async def _rows(self, keys: Sequence[str], names: Sequence[str] | None) -> list[Row]:
        if names is None and self._slow:
            names = await self._query_names()
        slow = {name: self._too_slow for name in names or () if name in self._slow}
        named = {} if names is None else {"constraints": [name for name in names if name not in slow]}
        rows = await self._rows_of_unjudged(keys, slow) if slow else []
        try:
            return rows + await self._query(keys, named)
        except OpaError as error:
            if not await may_succeed_in_part(self._opa, error):
                raise
        for name in named["constraints"] if named else await self._query_names():
            rows += await self._query_one(name, keys)
        return rows

    async def _query_one(self, name: str, keys: Sequence[str]) -> list[Row]:
        async def send(part: Sequence[str]) -> list[Row]:
            return await self._query(part, {"constraints": [name]})

        rows: list[Row] = []
        left, judged = _TRIED, 0  # objects at which it may still be slow; objects with a result
        groups = [part for part in (*([key] for key in keys[:_TRIED]), keys[_TRIED:]) if part]
        async for part, answer in in_halves(self._opa, groups, send):
            judged += len(part)
            if not isinstance(answer, OpaError):
                rows += answer
                continue
            slow = isinstance(answer, OpaTimeout)
            why = self._too_slow if slow else answer.details
            log.warning("policy of a Constraint failed", constraint=name, object=part[0], why=why)
            left -= slow
            rows += await self._rows_of_unjudged([*part, *keys[judged:]] if not left else part, {name: why})
            if not left:
                self._slow.add(name)
                break
        return rows

    async def _rows_of_unjudged(self, keys: Sequence[str], reasons: Mapping[str, str]) -> list[Row]:
        self.unjudged.update((name, key) for name in reasons for key in keys)
        return await self._query(keys, {"constraints": [*reasons], "unjudged": reasons})

    @property
    def _too_slow(self) -> str:
        return f"it takes more than {self._limit:.2g} s"

    async def _query(self, keys: Sequence[str], named: Mapping[str, Any]) -> list[Row]:
        async with within(self._limit):
            query_input = {**self._more, **named, "objects": list(keys), **SKIP_MISSING}
            found: list[Row] = await self._opa.query("violations", query_input)
        return found

    async def _query_names(self) -> list[str]:
        return [entry["constraint"] for entry in await self._opa.query("constraints", self._more)]
