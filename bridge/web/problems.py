"""`/api/problems`: what is wrong with objects that are neither policies with an outcome nor links."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from aiohttp import web

from bridge.model.keys import Key
from bridge.offline.engine import Engine
from bridge.queries.analysis import doubtful, problems_beside_statuses
from bridge.sources.known_fields import Doubt
from bridge.web.responses import answer


class Problems:
    """Responds with problems. `engine` returns an engine on the OPA to query, and raises Refused while there is none.

    `doubts` returns unknown names and refused values, with the line in the object's file; it is called in a thread.
    `revision` returns a name that differs after each change: until then, all clients share one answer.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        doubts: Callable[[], Iterable[tuple[Key, Doubt, int]]],
        revision: Callable[[], str],
    ) -> None:
        self._engine = engine
        self._doubts = doubts
        self._revision = revision
        self._answered: tuple[str, list[dict[str, Any]]] | None = None
        self._lock = asyncio.Lock()

    async def get(self, _: web.Request) -> web.Response:
        """Return problems in the form of the query `problems`."""
        engine = self._engine()
        async with self._lock:
            revision = self._revision()
            if self._answered is None or self._answered[0] != revision:
                doubts = doubtful(await asyncio.to_thread(self._doubts))
                self._answered = revision, await problems_beside_statuses(engine, doubts)
            return answer({"problems": self._answered[1]})
