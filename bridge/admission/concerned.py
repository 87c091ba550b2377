"""The requests that the shipped rules may decide about, as Rego names them: others need no query."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence

import msgspec

from bridge.admission.review import OURS, ReviewRequest
from bridge.derived.loop import Derived, Loop
from bridge.model.changes import Notice
from bridge.model.types import CONSTRAINT, DESCRIBING
from bridge.opa.client import Opa
from bridge.work import Turns


class _Answer(msgspec.Struct):
    every: bool
    types: frozenset[str]


class Concerned(Derived[str]):
    """Knows the answer of the query `concerned` for what OPA has now: a result of the loop with one key.

    `unready` returns why OPA may not have everything, empty if it has. While the answer is unknown, every request may
    concern the rules.
    """

    name = "requests that concern the rules"
    asks = False
    types = frozenset({CONSTRAINT, *DESCRIBING})

    def __init__(self, loop: Loop, opa: Opa, unready: Callable[[], str]) -> None:
        self._loop = loop
        self._opa = opa
        self._unready = unready
        self._answer: _Answer | None = None

    def __call__(self, request: ReviewRequest) -> bool:
        """Return whether the rules may find something about a request."""
        answer = self._answer
        if answer is None or answer.every or self._unready():
            return True
        return request.has_another_object or request.group == OURS or request.type_id in answer.types

    def notice(self, change: Notice) -> None:  # noqa: ARG002 - any of these types may change the answer
        """Forget the answer at once."""
        self._answer = None
        self._loop.renew(self)

    def distrust(self) -> None:
        """Forget the answer until OPA is synced."""
        self._answer = None

    async def every(self) -> AsyncIterator[Iterable[str]]:
        """Yield the only key."""
        yield ("",)

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """Return the only key."""
        return [stale.take(1)]

    async def compute(self, keys: Sequence[str]) -> None:  # noqa: ARG002 - there is one
        """Query the answer, and keep it unless there was another change meanwhile."""
        answer = msgspec.convert(await self._opa.query("concerned", {}), _Answer)
        if not self._loop.is_renewing(self):
            self._answer = answer
