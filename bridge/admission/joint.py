"""Both decisions on a request by one query of OPA, where its modules have that query.

The rules:
- Any failure, and an answer that does not count, gives None. The caller then queries each decision on its own, which
  shows what failed, and lets one decision count without the other.
- An OPA without this query is queried for it again after a pause, because a bundle may bring it.
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
    """What OPA answered for each decision; the result of one that is undefined is msgspec.UNSET."""

    placement: Answer
    rules: Answer


class Joint:
    """Queries both decisions.

    `ask` sends an AdmissionRequest. `path` is that of the placement decision, slashed. `distrust` gives why an answer
    does not count, empty where it does.
    """

    def __init__(
        self, ask: Callable[[msgspec.Raw], Awaitable[Answer]], path: str, distrust: Callable[[Answer], str]
    ) -> None:
        self._ask = ask
        self._path = path
        self._distrust = distrust
        self._resume_at = 0.0

    async def answer(self, request: msgspec.Raw, budget: float) -> Both | None:
        """Both answers to a request, within half of `budget` seconds; None where OPA gave none that counts."""
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
