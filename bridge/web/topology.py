"""`/api/topology` and `/api/stream`: the hierarchy with its policies, and its changes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bridge.http.request_guard import Refused
from bridge.web.backing import PresentBacking
from bridge.web.findings import Violations
from bridge.web.picture_updates import Drawing
from bridge.web.responses import Event, Streams, answer
from bridge.work import PAUSE

MOST = 50_000  # nodes of a response
DRAWING = 0.3  # seconds that a request waits for the whole picture before it gets what is drawn so far
_LARGE = 500  # nodes of a change from which on clients should request everything again
_QUIET = 0.05  # seconds in which changes are combined
_RELOAD_PAUSE = 1.0
_HEARTBEAT = Event("heartbeat", {})  # by its absence a page notices that its connection is dead


@dataclass(slots=True)
class Topology:
    """Responds with the picture of a drawing, and what `backing` lacks.

    `page` is a digest of the page's files. The stream has the revision of `violations` when it differs.
    """

    drawing: Drawing
    violations: Violations
    streams: Streams
    backing: PresentBacking
    page: str

    async def get(self, request: web.Request) -> web.Response:
        """Return the current picture, or its top, with all policies."""
        limit = _limit(request.query)
        drawing = self.drawing
        with drawing.looking():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAWING):
                    await drawing.whole.wait()
            picture = drawing.picture
            return answer({
                "revision": drawing.journal.name(),
                "whole": self._is_whole(),
                "total": picture.total,
                "nodes": {key: picture.node_of(key) for key in picture.top(limit)},
                "policies": drawing.policies,
            })  # fmt: skip

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Return the state and the changes, as server-sent events."""
        had = request.headers.get("Last-Event-ID") or request.query.get("since", "")
        with self.drawing.looking():
            return await self.streams.send(request, self._events(had), _HEARTBEAT)

    async def _events(self, had: str) -> AsyncIterator[Event]:
        journal = self.drawing.journal
        revision = journal.number(had)
        state: Any = None
        violations: int | None = None
        if revision is None:
            revision = journal.revision
            yield self._reload(revision)
        while True:
            present = self._state()
            if present != state:
                state = present
                yield Event("state", state)
            if self.violations.revision != violations:
                violations = self.violations.revision
                yield Event("violations", {"revision": violations})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await journal.after(revision)
            if journal.revision > revision:
                await asyncio.sleep(_QUIET)
                changed, upcoming = journal.since(revision), journal.revision
                if changed is None or len(changed) > _LARGE:
                    yield self._reload(upcoming)
                    await self._pause()
                else:
                    yield self._delta(changed, upcoming)
                revision = upcoming

    async def _pause(self) -> None:
        """Wait between two loads of everything, but not longer than until the picture is complete."""
        whole = self.drawing.whole
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_RELOAD_PAUSE):
                await (asyncio.sleep(_RELOAD_PAUSE) if whole.is_set() else whole.wait())

    def _is_whole(self) -> bool:
        return self.drawing.whole.is_set() and self.backing.is_complete

    def _state(self) -> dict[str, Any]:
        reasons = {name: why for name, why in self.backing.checks().items() if why}
        return {
            "ready": not reasons,
            "reasons": reasons,
            "unreadable": self.backing.unreadable(),
            "whole": self._is_whole(),
            "outcomes": self.drawing.has_outcomes,
            "page": self.page,
        }

    def _reload(self, revision: int) -> Event:
        name = self.drawing.journal.name(revision)
        return Event("topology", {"revision": name, "reload": True}, name)

    def _delta(self, changed: set[tuple[Any, str]], revision: int) -> Event:
        drawing = self.drawing
        nodes = {key: drawing.picture.node_of(key) for what, key in sorted(changed) if what == "node"}
        policies = {key: drawing.policies.get(key) for what, key in sorted(changed) if what == "policy"}
        name = drawing.journal.name(revision)
        data = {
            "revision": name,
            "reload": False,
            "total": drawing.picture.total,
            "nodes": {key: node for key, node in nodes.items() if node is not None},
            "gone": [key for key, node in nodes.items() if node is None],
            "policies": {key: policy for key, policy in policies.items() if policy is not None},
            "gonePolicies": [key for key, policy in policies.items() if policy is None],
        }
        return Event("topology", data, name)


def _limit(parameters: Mapping[str, str]) -> int:
    if unknown := sorted(parameters.keys() - {"limit"}):
        raise Refused(400, "InvalidInput", f"unknown parameter {unknown[0]!r}: the only one is limit")
    text = parameters.get("limit") or str(MOST)
    # Python rejects numbers of thousands of digits.
    if not text.isdecimal() or len(text) > len(str(MOST)) or not 1 <= int(text) <= MOST:
        raise Refused(400, "InvalidInput", f"limit must be a number from 1 to {MOST}")
    return int(text)
