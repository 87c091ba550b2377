"""The bundle endpoint: OPA's own protocol, with ETag and long polling."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from bridge.opa.bundle import Bundle
from bridge.opa.config import BUNDLE_CONTENT_TYPE

LONGEST_WAIT = 60.0  # seconds; a client that asks for more is answered by then

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BundleEndpoint:
    """Serve one bundle at a time at `path`; before the first one, requests wait.

    `archive` makes the bytes that are served of a bundle. `handed` is the revision that was served last. What a request
    says of its client counts: `add_to` gets the guard that lets OPA alone through.
    """

    def __init__(self, path: str, archive: Callable[[Bundle], bytes], bundle: Bundle | None = None) -> None:
        self.handed = ""
        self._confirmed = ""
        self._path = path
        self._archive = archive
        self._bundle = bundle
        self._content = archive(bundle) if bundle else b""
        self._fresh_start: Callable[[], None] = lambda: None
        self._changed = asyncio.Condition()
        self._ended = False

    @property
    def revision(self) -> str:
        """The revision that is served; "" before the first."""
        return self._bundle.revision if self._bundle else ""

    def on_fresh_start(self, call: Callable[[], None]) -> None:
        """Call this when a client asks who has no bundle yet: its OPA has just started."""
        self._fresh_start = call

    def add_to(self, app: web.Application, guard: Callable[[Handler], Handler]) -> None:
        """Route the endpoint in an application, behind a guard."""
        app.router.add_get(self._path, guard(self._get))
        app.on_shutdown.append(self._end)

    async def serve_next(self, bundle: Bundle) -> None:
        """Serve another bundle from now on; who waits for news gets it at once."""
        async with self._changed:
            self._bundle, self._content = bundle, self._archive(bundle)
            self._changed.notify_all()

    async def _end(self, _: web.Application) -> None:
        """Answer who waits for news: there will be none."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def taken(self, revision: str) -> None:
        """Wait until an OPA has this revision in force: then it asks for news of it."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._confirmed == revision)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        has = request.headers.get("If-None-Match", "").strip('"')
        if not has:
            self._fresh_start()
        if has != self._confirmed:
            async with self._changed:
                self._confirmed = has
                self._changed.notify_all()
        wait = _wanted_wait(request.headers.getall("Prefer", []))
        if wait > 0 and not self._has_news(has):
            try:
                async with asyncio.timeout(wait), self._changed:
                    await self._changed.wait_for(lambda: self._has_news(has))
            except TimeoutError:
                pass
        bundle = self._bundle
        if bundle is None:
            # Who has one from before keeps it until it is known what is to be served.
            return web.Response(status=304 if has else 503, headers={"Content-Type": BUNDLE_CONTENT_TYPE})
        headers = {"ETag": f'"{bundle.revision}"', "Content-Type": BUNDLE_CONTENT_TYPE}
        if has == bundle.revision:
            return web.Response(status=304, headers=headers)
        self.handed = bundle.revision
        return web.Response(body=self._content, headers=headers)

    def _has_news(self, has: str) -> bool:
        return self._ended or (self._bundle is not None and self._bundle.revision != has)


def _wanted_wait(preferences: list[str]) -> float:
    """Seconds that a client is ready to wait, from `Prefer: …;wait=N` (RFC 7240)."""
    for part in ";".join(preferences).replace(",", ";").split(";"):
        name, _, value = part.strip().partition("=")
        if name == "wait" and value.isdigit():
            return min(float(value), LONGEST_WAIT)
    return 0.0
