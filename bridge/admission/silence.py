"""Of which objects the shipped rules have nothing to say, so that they need not be asked.

The rules:
- The Rego says what it can speak of, and of which types of objects that depends (`review_scope`).
- What was read counts until an object of these types changes, OPA is filled anew, or the answer would not count as a
  decision any more: other modules are served, or there is a doubt about what OPA holds.
- Nothing is read while somebody waits: as long as it is not known, the rules are asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from bridge.model.notice import Notice
from bridge.opa.client import Answer
from bridge.opa.errors import OpaError

log = structlog.get_logger(__name__)

SPOKEN_OF = "bridge/admission/review_scope"
_WAIT = 0.25  # seconds before what could not be read is read again


class _SpokenOf(msgspec.Struct):
    any: bool
    types: frozenset[str]
    depends_on: frozenset[str]


class Silence:
    """Knows of which types (`<group>/<Kind>`) the shipped rules have nothing to say.

    `read` asks OPA for the document SPOKEN_OF. `distrust` says why an answer does not count, empty where it does.
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
        """The revision of the modules by which nothing can be said of this type; "" where something might be."""
        answer, known = self._answer, self._known
        if answer is None or known.any or type_id in known.types:
            return ""
        if self._distrust(answer):
            self._forget()
            return ""
        return answer.revision

    def note(self, notice: Notice) -> None:
        """Take notice of what OPA holds now."""
        depends_on = self._known.depends_on
        if notice.refilled or notice.refilling or not depends_on or any(k.type_id in depends_on for k in notice.keys):
            self._forget()

    async def run(self) -> None:
        """Read it whenever it is not known, until cancelled."""
        said = ""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._look()
                said = ""
            except (OpaError, msgspec.ValidationError) as error:
                if str(error) != said:
                    log.debug("the rules are asked of every object", why=str(error))
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
