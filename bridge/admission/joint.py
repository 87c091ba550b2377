"""Both decisions on a request by one query of OPA, if its modules have that query.

The rules:
- Any failure, and a result that does not count, returns None. The caller then queries each decision separately, which
  shows the failure, and lets one decision count without the other.
- An OPA without this query is queried for it again after a pause, because a bundle may add it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from bridge.opa.client import Answer
from bridge.opa.errors import OpaError

PAUSE = 1.0  # seconds without this query after OPA did not have it for the decision at hand


@dataclass(frozen=True, slots=True)
class Both:
    """OPA's result for each decision; an undefined one is msgspec.UNSET."""

    placement: Answer
    rules: Answer


class Joint:
    """Queries both decisions.

    `ask` sends an AdmissionRequest. `path` is that of the placement decision, with slashes. `distrust` returns why a
    result does not count, empty if it does.
    """

    def __init__(
        self, ask: Callable[[msgspec.Raw], Awaitable[Answer]], path: str, distrust: Callable[[Answer], str]
    ) -> None:
        self._ask = ask
        self._path = path
        self._distrust = distrust
        self._resume_at = 0.0

    async def answer(self, request: msgspec.Raw, budget: float) -> Both | None:
        """Return both results for a request, within half of `budget` seconds; None if OPA returned none that counts."""
        clock = asyncio.get_running_loop().time
        if clock() < self._resume_at:
            return None
        try:
            async with asyncio.timeout(budget / 2):
                got = await self._ask(request)
        except (OpaError, TimeoutError):
            return None
        result = got.result
        if not isinstance(result, dict) or result.get("path") != self._path:
            self._resume_at = clock() + PAUSE
            return None
        if self._distrust(got):
            return None
        return Both(_part(got, "placement"), _part(got, "rules"))


def _part(got: Answer, name: str) -> Answer:
    result: dict[str, Any] = got.result
    return msgspec.structs.replace(got, result=result.get(name, msgspec.UNSET))
