"""Fewer queries of OPA for a request: both decisions in one, and none for types that the shipped rules do not concern.

Both decisions in one query, if OPA's modules have it:
- Any failure, and a result that does not count, returns None. The caller then queries each decision separately, which
  shows the failure, and lets one decision count without the other.
- An OPA without this query is queried for it again after a pause, because a bundle may add it.

Types without rules:
- Rego lists the types that its rules concern, and the types that this list depends on (`review_scope`).
- A list counts until an object of these types changes, OPA is synced again, or a decision would not count anymore:
  other modules are served, or OPA's documents are unverified.
- Nothing is read while a request waits: while the list is unknown, the bridge queries the rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from bridge.model.changes import Notice
from bridge.opa.client import Answer
from bridge.opa.errors import OpaError

log = structlog.get_logger(__name__)

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


SPOKEN_OF = "bridge/admission/review_scope"
_WAIT = 0.25  # seconds before a failed read is repeated


class _SpokenOf(msgspec.Struct):
    any: bool
    types: frozenset[str]
    depends_on: frozenset[str]


class Silence:
    """Knows the types (`<group>/<Kind>`) that the shipped rules do not concern.

    `read` queries OPA for the document SPOKEN_OF. `distrust` returns why a result does not count, empty if it does.
    """

    def __init__(self, read: Callable[[], Awaitable[Answer]], distrust: Callable[[Answer], str]) -> None:
        self._read = read
        self._distrust = distrust
        self._answer: Answer | None = None
        self._known = _SpokenOf(any=True, types=frozenset(), depends_on=frozenset())
        self._changes = 0
        self._wake = asyncio.Event()
        self._wake.set()

    def revision(self, type_id: str) -> str:
        """Return the revision of the modules whose rules do not concern this type; "" if they may."""
        answer, known = self._answer, self._known
        if answer is None or known.any or type_id in known.types:
            return ""
        if self._distrust(answer):
            self._forget()
            return ""
        return answer.revision

    def note(self, notice: Notice) -> None:
        """Note a change of OPA's documents."""
        depends_on = self._known.depends_on
        if notice.refilled or notice.refilling or not depends_on or any(k.type_id in depends_on for k in notice.keys):
            self._forget()

    async def run(self) -> None:
        """Read the list whenever it is unknown, until cancelled."""
        said = ""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._look()
                said = ""
            except (OpaError, msgspec.ValidationError) as error:
                if str(error) != said:
                    log.debug("admission rules unknown, reviewing every object", why=str(error))
                    said = str(error)
            if self._answer is None:
                await asyncio.sleep(_WAIT)
                self._wake.set()

    async def _look(self) -> None:
        changes = self._changes
        answer = await self._read()
        self._known = msgspec.convert(answer.result, _SpokenOf)
        if changes == self._changes and answer.revision and not self._distrust(answer):
            self._answer = answer

    def _forget(self) -> None:
        self._changes += 1
        self._answer = None
        self._wake.set()
