"""The site for people and programs: its routes, and their shared parts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web

from bridge.app.site import Backing
from bridge.http.listeners import ServeError, web_token_of
from bridge.http.request_guard import Refused, is_loopback
from bridge.opa.client import Opa
from bridge.settings.model import Settings
from bridge.web import static_files
from bridge.web.changes import Changes
from bridge.web.drawing import Drawing
from bridge.web.effective import EffectiveStream
from bridge.web.events import Streams
from bridge.web.following import Following
from bridge.web.guard import Guard
from bridge.web.queries import Queries
from bridge.web.topology import Topology


def site_of(settings: Settings) -> WebSite:
    """Return the site of the settings. Raises ServeError if other machines could read it without a token."""
    token = web_token_of(settings.web_token_file)
    if token is None and not is_loopback(settings.listen_address[0]):
        raise ServeError(
            f"--listen {settings.listen} is reached by others than this machine: give --web-token-file FILE, with a "
            "token that whoever reads the page must have"
        )
    return WebSite(Guard(token))


class WebSite:
    """The routes of the page and its JSON. Until `open` they respond that the bridge is starting."""

    def __init__(self, guard: Guard) -> None:
        self.wrong_tokens = guard.wrong_tokens
        self._guard = guard
        self._backing: Backing | None = None
        self._queries = Queries(self._opa)
        self._changes = Changes(self._opa)
        streams = Streams()
        self._drawing = Drawing()
        self._topology = Topology(self._drawing, streams, self._checks)
        self._following = Following()
        self._effective = EffectiveStream(self._opa, self._following, streams, self._checks)

    def add_to(self, app: web.Application) -> None:
        """Add all routes to an application."""
        get, post, guard = app.router.add_get, app.router.add_post, self._guard
        post("/api/login", guard.open(guard.login))
        get("/v1/effective", guard.closed(self._effective.get))
        get("/api/topology", guard.closed(self._topology.get))
        get("/api/stream", guard.closed(self._topology.stream))
        post("/api/query/{name}", guard.closed(self._queries.post))
        post("/api/changes", guard.closed(self._changes.post))
        get("/", guard.open(static_files.get))
        get("/{name:.+}", guard.open(static_files.get))

    def open(self, backing: Backing) -> None:
        """Note that OPA is running: respond from now on."""
        self._backing = backing
        self._drawing.open(backing)
        self._following.open(backing.opa)
        backing.listen(self._following.note)

    async def run(self) -> None:
        """Follow changes until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._drawing.run())
            tasks.create_task(self._following.run())

    def _checks(self) -> Mapping[str, str]:
        return self._backing.checks() if self._backing else {"bridge": "the bridge is starting"}

    def _opa(self) -> Opa:
        if self._backing is None:
            raise Refused(503, "NotReady", "the bridge is starting: OPA is not there yet", {"Retry-After": "1"})
        return self._backing.readers
