"""The types that the shipped rules do not concern: the bridge does not query the rules for requests about them.

- Rego lists the types that its rules concern, and the types that this list depends on (`review_scope`).
- A list counts until an object of these types changes, OPA is synced again, or a decision would not count anymore:
  other modules are served, or OPA's documents are unverified.
- Nothing is read while a request waits: while the list is unknown, the bridge queries the rules.
"""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from bridge.model.changes import Notice
from bridge.opa.client import Answer
from bridge.opa.errors import OpaError

log = structlog.get_logger(__name__)

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
