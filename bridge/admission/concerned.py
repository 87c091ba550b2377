"""The requests that the shipped rules may decide about, as Rego names them: others need no query."""

import asyncio
from collections.abc import Callable

import msgspec

from bridge.admission.review import OURS, ReviewRequest
from bridge.model.changes import Notice
from bridge.model.types import CONSTRAINT
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.work import RETURNING, Backoff


class _Answer(msgspec.Struct):
    every: bool
    types: frozenset[str]


class Concerned:
    """Knows the answer of the query `concerned` for what OPA has now, by the notices of writes to it.

    `unready` returns why OPA may not have everything, empty if it has. While the answer is unknown, every request may
    concern the rules.
    """

    def __init__(self, opa: Opa, unready: Callable[[], str]) -> None:
        self._opa = opa
        self._unready = unready
        self._answer: _Answer | None = None
        self._outdated = asyncio.Event()
        self._outdated.set()

    def take_in(self, notice: Notice) -> None:
        """Take in a write to OPA, before anything else knows of it."""
        if notice.refilled or notice.refilling or notice.kinds or any(key.type_id == CONSTRAINT for key in notice.keys):
            self._answer = None
            self._outdated.set()

    def __call__(self, request: ReviewRequest) -> bool:
        """Return whether the rules may find something about a request."""
        answer = self._answer
        if answer is None or answer.every or self._unready():
            return True
        return request.has_another_object or request.group == OURS or request.type_id in answer.types

    async def run(self) -> None:
        """Query after each change until cancelled."""
        backoff = Backoff(RETURNING)
        while True:
            await self._outdated.wait()
            self._outdated.clear()
            try:
                answer = msgspec.convert(await self._opa.query("concerned", {}), _Answer)
            except OpaError:  # such as an OPA that has no modules yet
                self._outdated.set()
                await backoff.wait()
                continue
            backoff.reset()
            if not self._outdated.is_set():
                self._answer = answer
