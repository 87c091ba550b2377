"""Our claim on an OPA: a marker there that every write moves on, so that none reaches an OPA that is not as we left it.

The rules:
- `data.bridge_state.at` has one key, `<epoch>.<number>`. Each write removes it and adds the next one, in its own
  transaction: JSON Patch refuses all of it where the key is another one, or none (OPA was restarted, somebody else took
  over, or this very write has arrived already).
- A write without an answer may have arrived or not: the marker tells, and it is sent again only if it has not.
- A bridge moves its marker every few seconds, though it has nothing to write: behind one that stands still is nobody.
- An OPA that another bridge fills is left to it; it is taken over when its marker stands still.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import structlog

from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaUnavailable, OpaUndefined
from bridge.opa.paths import pointer
from bridge.pacing import Backoff
from bridge.replicator.index_layout import Operation

MARKER = "bridge_state"
DOUBTFUL = "?"  # in place of the rules that links were made by; no rules are called so
STANDSTILL = 6  # looks without a move, after which another bridge's marker has nobody behind it
SLOW = 3.0  # seconds without an answer, after which somebody is told
LOOK = 1.0  # seconds between two looks at an OPA
_FIRST_WAIT = 0.05  # seconds before an OPA that is away is asked again; the waits double
_LONGEST_WAIT = 1.0
_NOT_FOUND = 404
_THROTTLED = 429
_SERVER_ERROR = 500

Answer = TypeVar("Answer")
Waiting = Callable[[OpaError | None], None]
log = structlog.get_logger(__name__)


class Lost(OpaError):
    """OPA does not hold what was written there: it was restarted (then it is `empty`), or somebody else fills it.

    `reason` is one word for it: `restarted`, `changed` by somebody else, or `modules` (others make its links).
    """

    def __init__(self, message: str, *, empty: bool = False, reason: str = "") -> None:
        super().__init__(message)
        self.empty = empty
        self.reason = reason or ("restarted" if empty else "changed")


class _Marker(NamedTuple):
    owner: str
    content: str  # what the documents were made from
    rules: str  # what their links were made by, besides
    at: str  # empty: there is none


class FoundMarker(NamedTuple):
    """What OPA has: documents that were made from the same content (`usable`), with links by the same `rules`."""

    usable: bool
    linked: bool


class Claim:
    """Writes to one OPA on behalf of `owner` (which names one bridge; after a restart it is the same).

    `content` names what the documents are made from (which cluster, by which Rego); empty: nobody can tell.
    `waiting` is called with the reason when OPA keeps a write or a question waiting, and with None when it goes on; it
    may raise, to give up. Methods wait for an OPA that is away; they raise Lost when it comes back as another one, and
    OpaError for what is not mended by waiting.
    """

    def __init__(self, opa: Opa, owner: str = "", content: str = "", waiting: Waiting = lambda _: None) -> None:
        self._opa = opa
        self._owner = owner or uuid.uuid4().hex
        self._content = content
        self._rules = ""
        self._doubtful = False  # whether what is written has links by those rules
        self._waiting = waiting
        self._stalled = False
        self._epoch = ""
        self._number = 0
        self._at = ""  # where the marker is now
        self._beginning = False

    async def take(self, rules: str = "") -> FoundMarker:
        """Wait until no other bridge fills this OPA. The next write begins an epoch of ours.

        Where OPA has documents that were made from the very `content`, only differences need be written; `rules` names
        what links are made by that `content` does not.
        """
        self._rules, self._doubtful = rules, False
        seen, looks = "", 0
        while True:
            marker = _read(await self.ask(lambda: self._opa.get(MARKER)))
            looks = looks + 1 if marker.at == seen else 0
            if not marker.at or marker.owner in {"", self._owner} or looks >= STANDSTILL:
                break
            if not seen:
                log.warning("another bridge fills this OPA: waits until it has gone", owner=marker.owner)
            seen = marker.at
            await asyncio.sleep(LOOK)
        self._epoch, self._number, self._at, self._beginning = uuid.uuid4().hex, 0, marker.at, True
        usable = bool(marker.at and self._content and marker.content == self._content)
        return FoundMarker(usable, marker.rules == rules)

    def doubt_rules(self) -> None:
        """From the next write on the marker names no rules: links are made by those or by others."""
        self._doubtful = True

    async def write(self, operations: Sequence[Operation], *, filled: bool) -> None:
        """Apply a JSON Patch exactly once. `filled` says whether OPA holds everything with it."""
        following = f"{self._epoch}.{self._number + 1}"
        steps: list[Operation] = []
        if self._at:
            steps.append({"op": "remove", "path": pointer(MARKER, "at", self._at)})
        if self._beginning:
            whose = {"epoch": self._epoch, "owner": self._owner, "content": self._content}
            rules = DOUBTFUL if self._doubtful else self._rules
            marker = {**whose, "rules": rules, "filled": filled, "at": {following: True}}
            steps.append({"op": "add", "path": pointer(MARKER), "value": marker})
        else:
            steps.append({"op": "add", "path": pointer(MARKER, "at", following), "value": True})
            steps.append({"op": "replace", "path": pointer(MARKER, "filled"), "value": filled})
            if self._doubtful:
                steps.append({"op": "replace", "path": pointer(MARKER, "rules"), "value": DOUBTFUL})
        await self._deliver([*steps, *operations], following)
        self._number += 1
        self._at, self._beginning = following, False

    async def ask(self, question: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer to a question. Unless a claim is only being taken, an OPA that was away is looked at first."""
        backoff = Backoff(_FIRST_WAIT, _LONGEST_WAIT)
        while True:
            try:
                with self._looked_at_meanwhile():
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
        backoff = Backoff(_FIRST_WAIT, _LONGEST_WAIT)
        while True:
            telling = asyncio.get_running_loop().call_later(SLOW, self._tell_slow)
            try:
                await self._opa.patch(body)
                break
            except OpaError as error:
                # Refused because of the marker, or because of what it was to change: the marker tells which.
                refused = isinstance(error, OpaRejected) and error.status == _NOT_FOUND
                if not refused and not _passing(error):
                    raise
                if not refused:
                    self._tell(error)
                    await backoff.wait()
                if await self._has_arrived(following):
                    break
                if refused:
                    raise Lost("OPA lacks what was written: somebody else has removed it") from error
            finally:
                telling.cancel()
        self._tell(None)

    async def _has_arrived(self, following: str) -> bool:
        """Whether the write that moves the marker to `following` is in OPA. Raises Lost where it is elsewhere."""
        backoff = Backoff(_FIRST_WAIT, _LONGEST_WAIT)
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
            who = f"{marker.owner} fills it now" if marker.at and marker.owner != self._owner else "it was restarted"
            raise Lost(f"OPA does not hold what was written: {who}", empty=not marker.at)

    @contextlib.contextmanager
    def _looked_at_meanwhile(self) -> Iterator[None]:
        """Tell where OPA answers nothing at all for SLOW seconds: a question may take long, a small one does not."""
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
        with contextlib.suppress(OpaError):  # who would give up does so once there is an answer, or none
            self._tell(OpaError(f"OPA has not answered for {SLOW:g} s"))

    def _tell(self, error: OpaError | None) -> None:
        if error is not None or self._stalled:
            self._stalled = error is not None
            self._waiting(error)


def _passing(error: OpaError) -> bool:
    """Whether waiting can help."""
    if isinstance(error, OpaRejected):
        return error.status == _THROTTLED or (error.status >= _SERVER_ERROR and not error.in_evaluation)
    return isinstance(error, OpaUnavailable) or type(error) is OpaError  # which says that no OPA answers there


def _read(found: Any) -> _Marker:
    """The marker as a document has it; whatever somebody else has put there counts as none."""
    if not isinstance(found, dict):
        return _Marker("", "", "", "")
    at = found.get("at")
    place = next(iter(at)) if isinstance(at, dict) and len(at) == 1 else ""
    owner, content, rules = (str(found.get(name, "")) for name in ("owner", "content", "rules"))
    return _Marker(owner, content, rules, place)
