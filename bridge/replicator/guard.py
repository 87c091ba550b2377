"""Single-writer guard: every write advances a marker in OPA, so a write based on stale state fails.

The rules:
- `data.bridge_state.at` has one key, `<epoch>.<number>`. Each write removes it and adds the next one, in its own
  transaction: JSON Patch rejects the whole write if the key differs or is missing (OPA was restarted, another bridge
  took over, or this write has already arrived).
- A write without a response may have arrived or not: the marker shows it, and the write is repeated only if it has not
  arrived.
- A bridge advances its marker every few seconds even without changes: a marker that does not change has no bridge.
- An OPA with the advancing marker of another bridge is left to it; it is taken over when the marker stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import structlog

from bridge.opa.address import pointer
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaUnavailable, OpaUndefined
from bridge.replicator.documents import Operation
from bridge.work import RETURNING, Backoff

MARKER = "bridge_state"
DOUBTFUL = "?"  # instead of the rules that made links; no rules have this name
STANDSTILL = 6  # checks without a change, after which another bridge's marker has no bridge
SLOW = 3.0  # seconds without a response, after which it is reported
LOOK = 1.0  # seconds between two checks of an OPA
_NOT_FOUND = 404
_OF_CONTENT = {400, _NOT_FOUND, 413}  # invalid, without the target of an operation, too large
_FAILURES = 6  # of one write, in 2.5 s or more, while OPA responds to other requests
_THROTTLED = 429
_SERVER_ERROR = 500

Answer = TypeVar("Answer")
Waiting = Callable[[OpaError | None], None]
log = structlog.get_logger(__name__)


class Lost(OpaError):
    """OPA does not have the written data: it was restarted (then it is `empty`), or another bridge writes to it.

    `reason` is one word: `restarted`, `changed` by another client, or `modules` (others declare its links).
    """

    def __init__(self, message: str, *, empty: bool = False, reason: str = "") -> None:
        super().__init__(message)
        self.empty = empty
        self.reason = reason or ("restarted" if empty else "changed")


class ContentRefused(Lost):
    """OPA refuses a write because of its content; it has the data from before.

    The `reason` is `rejected`, or `changed` if OPA has no document where the write expects one.
    """


class _Marker(NamedTuple):
    owner: str
    content: str  # the origin of the documents
    rules: str  # the other inputs of their links
    at: str  # empty: there is none


class FoundMarker(NamedTuple):
    """The state of OPA: documents from the same content are `usable`, with links by the same `rules`."""

    usable: bool
    linked: bool


class Claim:
    """Writes to one OPA for `owner` (which identifies one bridge, also after a restart).

    `content` identifies the origin of the documents (the cluster and the Rego); empty: unknown. `waiting` is called
    with the reason when OPA delays a write or a query, and with None when it continues; it may raise, to give up.
    Methods wait for an unavailable OPA; they raise Lost if it has other data afterwards, and OpaError for permanent
    errors.
    """

    def __init__(self, opa: Opa, owner: str = "", content: str = "", waiting: Waiting = lambda _: None) -> None:
        self._opa = opa
        self._owner = owner or uuid.uuid4().hex
        self._content = content
        self._rules = ""
        self.rules_doubtful = False  # since `take`, links may be made by other rules
        self._waiting = waiting
        self._stalled = False
        self._epoch = ""
        self._number = 0
        self._at = ""  # the current place of the marker
        self._beginning = False

    async def take(self, rules: str = "") -> FoundMarker:
        """Wait until no other bridge writes to this OPA. The next write begins a new epoch.

        If OPA has documents of the same `content`, only differences must be written; `rules` identifies the inputs of
        links that `content` does not include.
        """
        doubtful, self.rules_doubtful = self.rules_doubtful, False
        self._rules = rules
        seen, looks = "", 0
        while True:
            marker = _read(await self.ask(lambda: self._opa.get(MARKER)))
            looks = looks + 1 if marker.at == seen else 0
            if not marker.at or marker.owner in {"", self._owner} or looks >= STANDSTILL:
                break
            if not seen:
                log.warning("waiting for another bridge to release OPA", owner=marker.owner)
            seen = marker.at
            await asyncio.sleep(LOOK)
        self._epoch, self._number, self._at, self._beginning = uuid.uuid4().hex, 0, marker.at, True
        usable = bool(marker.at and self._content and marker.content == self._content)
        return FoundMarker(usable, marker.rules == rules and not doubtful)

    def doubt_rules(self) -> None:
        """Let the marker name no rules from the next write on: links may be made by old or new ones."""
        self.rules_doubtful = True

    async def write(self, operations: Sequence[Operation], *, filled: bool) -> None:
        """Apply a JSON Patch exactly once. `filled` means that OPA then has everything.

        Raises ContentRefused if OPA does not accept these operations.
        """
        following = f"{self._epoch}.{self._number + 1}"
        steps: list[Operation] = []
        if self._at:
            steps.append({"op": "remove", "path": pointer(MARKER, "at", self._at)})
        if self._beginning:
            whose = {"epoch": self._epoch, "owner": self._owner, "content": self._content}
            rules = DOUBTFUL if self.rules_doubtful else self._rules
            marker = {**whose, "rules": rules, "filled": filled, "at": {following: True}}
            steps.append({"op": "add", "path": pointer(MARKER), "value": marker})
        else:
            steps.append({"op": "add", "path": pointer(MARKER, "at", following), "value": True})
            steps.append({"op": "replace", "path": pointer(MARKER, "filled"), "value": filled})
            if self.rules_doubtful:
                steps.append({"op": "replace", "path": pointer(MARKER, "rules"), "value": DOUBTFUL})
        await self._deliver([*steps, *operations], following)
        self._number += 1
        self._at, self._beginning = following, False

    async def ask(self, question: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the result of a query. Except during `take`, an OPA that was unavailable is checked first."""
        backoff = Backoff(RETURNING)
        while True:
            try:
                with self._checked_meanwhile():
                    answer = await question()
            except OpaError as error:
                if not _passing(error) and not isinstance(error, OpaUndefined):
                    raise
                self._tell(error)
                await backoff.wait()
                if self._number:
                    await self._has_arrived("")
            else:
                self._tell(None)
                return answer

    async def _deliver(self, body: list[Operation], following: str) -> None:
        backoff = Backoff(RETURNING)
        failures = 0
        while True:
            telling = asyncio.get_running_loop().call_later(SLOW, self._tell_slow)
            try:
                await self._opa.patch(body)
                break
            except OpaError as error:
                # Rejected because of the marker, or because of its content: the marker shows which.
                status = error.status if isinstance(error, OpaRejected) else 0
                if status not in _OF_CONTENT:
                    if not _passing(error):
                        raise
                    self._tell(error)
                    await backoff.wait()
                if await self._has_arrived(following):
                    break
                failures += status != _THROTTLED
                if status == _NOT_FOUND:
                    message = "OPA lacks written data: another client has removed it"
                    raise ContentRefused(message, reason="changed") from error
                if status in _OF_CONTENT or failures == _FAILURES:
                    raise ContentRefused(str(error), reason="rejected") from error
            finally:
                telling.cancel()
        self._tell(None)

    async def _has_arrived(self, following: str) -> bool:
        """Return whether the write with the marker `following` is in OPA. Raises Lost for another marker."""
        backoff = Backoff(RETURNING)
        while True:
            try:
                marker = _read(await self._opa.get(MARKER))
            except OpaError as error:
                self._tell(error)
                await backoff.wait()
                continue
            if following and marker.at == following:
                return True
            if marker.at == self._at:
                return False
            who = f"{marker.owner} maintains it" if marker.at and marker.owner != self._owner else "it was restarted"
            raise Lost(f"data in OPA differs from the written data: {who}", empty=not marker.at)

    @contextlib.contextmanager
    def _checked_meanwhile(self) -> Iterator[None]:
        """Report an OPA without any response for SLOW seconds: a query may take long, a small one does not."""
        looks: list[asyncio.Task[None]] = []
        timer = asyncio.get_running_loop().call_later(LOOK, lambda: looks.append(asyncio.create_task(self._look())))
        try:
            yield
        finally:
            timer.cancel()
            for look in looks:
                look.cancel()

    async def _look(self) -> None:
        try:
            while True:
                async with asyncio.timeout(SLOW - LOOK):
                    await self._opa.get(MARKER)
                await asyncio.sleep(LOOK)
        except (TimeoutError, OpaError):
            self._tell_slow()

    def _tell_slow(self) -> None:
        with contextlib.suppress(OpaError):  # the caller gives up after a response, or without any
            self._tell(OpaError(f"OPA has not responded for {SLOW:g} s"))

    def _tell(self, error: OpaError | None) -> None:
        if error is not None or self._stalled:
            self._waiting(error)
            self._stalled = error is not None


def _passing(error: OpaError) -> bool:
    """Return whether waiting can help."""
    if isinstance(error, OpaRejected):
        return error.status == _THROTTLED or (error.status >= _SERVER_ERROR and not error.in_evaluation)
    return isinstance(error, OpaUnavailable) or type(error) is OpaError  # which means that no OPA responds there


def _read(found: Any) -> _Marker:
    """Parse the marker of a document; an invalid one counts as none."""
    if not isinstance(found, dict):
        return _Marker("", "", "", "")
    at = found.get("at")
    place = next(iter(at)) if isinstance(at, dict) and len(at) == 1 else ""
    owner, content, rules = (str(found.get(name, "")) for name in ("owner", "content", "rules"))
    return _Marker(owner, content, rules, place)
