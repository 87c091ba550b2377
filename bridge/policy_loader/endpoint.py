"""The bundle endpoint: OPA's own protocol, with ETag and long polling."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from bridge.opa.bundle import Bundle
from bridge.opa.config import BUNDLE_CONTENT_TYPE

LONGEST_WAIT = 60.0  # seconds; clients that request more get a response by then

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BundleEndpoint:
    """Serves one bundle at a time at `path`; before the first one, requests wait.

    `archive` makes the served bytes of a bundle. `handed` is the last served revision. The endpoint trusts requests:
    `add_to` gets the guard that allows only OPA.
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
        """Return the served revision; "" before the first."""
        return self._bundle.revision if self._bundle else ""

    def on_fresh_start(self, call: Callable[[], None]) -> None:
        """Call this when a client without a bundle sends a request: its OPA has just started."""
        self._fresh_start = call

    def add_to(self, app: web.Application, guard: Callable[[Handler], Handler]) -> None:
        """Add the endpoint to an application, behind a guard."""
        app.router.add_get(self._path, guard(self._get))
        app.on_shutdown.append(self._end)

    async def serve_next(self, bundle: Bundle) -> None:
        """Serve another bundle from now on; waiting clients get it immediately."""
        async with self._changed:
            self._bundle, self._content = bundle, self._archive(bundle)
            self._changed.notify_all()

    async def _end(self, _: web.Application) -> None:
        """Answer waiting clients: there is no other bundle."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def taken(self, revision: str) -> None:
        """Wait until an OPA has activated this revision, which it confirms by polling with it."""
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
            # Clients with an earlier one keep it until the next bundle is known.
            return web.Response(status=304 if has else 503, headers={"Content-Type": BUNDLE_CONTENT_TYPE})
        headers = {"ETag": f'"{bundle.revision}"', "Content-Type": BUNDLE_CONTENT_TYPE}
        if has == bundle.revision:
            return web.Response(status=304, headers=headers)
        self.handed = bundle.revision
        return web.Response(body=self._content, headers=headers)

    def _has_news(self, has: str) -> bool:
        return self._ended or (self._bundle is not None and self._bundle.revision != has)


def _wanted_wait(preferences: list[str]) -> float:
    """Return the seconds that a client accepts to wait, from `Prefer: …;wait=N` (RFC 7240)."""
    for part in ";".join(preferences).replace(",", ";").split(";"):
        name, _, value = part.strip().partition("=")
        if name == "wait" and value.isdigit():
            return min(float(value), LONGEST_WAIT)
    return 0.0
