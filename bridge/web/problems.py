"""`/api/problems`: what is wrong with objects that are neither policies with an outcome nor links."""

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web

from bridge.http.request_guard import Refused
from bridge.offline.engine import Engine
from bridge.queries.analysis import doubtful, problems_beside_statuses
from bridge.sidecar.run import Backing
from bridge.web.responses import answer


class Problems:
    """Responds with problems. `backing` returns None while OPA is not running.

    `revision` returns a name that differs after each change: until then, all clients share one answer.
    """

    def __init__(self, backing: Callable[[], Backing | None], revision: Callable[[], str]) -> None:
        self._backing = backing
        self._revision = revision
        self._answered: tuple[str, list[dict[str, Any]]] | None = None
        self._lock = asyncio.Lock()

    async def get(self, _: web.Request) -> web.Response:
        """Return problems in the form of the query `problems`."""
        backing = self._backing()
        if backing is None:
            raise Refused(503, "NotReady", "the bridge is starting: OPA is not available yet", {"Retry-After": "1"})
        async with self._lock:
            revision = self._revision()
            if self._answered is None or self._answered[0] != revision:
                doubts = doubtful(await asyncio.to_thread(backing.doubts))
                engine = Engine(backing.readers, running=True)
                self._answered = revision, await problems_beside_statuses(engine, doubts)
            return answer({"problems": self._answered[1]})
