"""Bundles on their way to OPA: the endpoint, their state in OPA, and conflicts with documents of others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from aiohttp import web

from bridge.model.keys import pointer
from bridge.opa.bundle import BUNDLE_CONTENT_TYPE, BUNDLE_NAME, Bundle
from bridge.opa.client import BundleStatus, Opa
from bridge.opa.errors import OpaRejected
from bridge.policy_loader.submissions import DataPath, overlap

LONGEST_WAIT = 60.0  # seconds; clients that request more get a response by then

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BundleEndpoint:
    """Serves one bundle at a time at `path`; requests before the first one wait.

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


_AT_ONCE = 16  # queries to OPA
RECENT = 30.0  # seconds: several times as long as a loaded OPA needs to fetch and activate a bundle


class BundleRefused(Exception):
    """OPA rejects the served bundle; `errors` are its own, with message and location."""

    def __init__(self, message: str, errors: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message)
        self.errors = errors


class Activation:
    """Serves bundles to one OPA, and checks their state. Methods raise OpaError if OPA does not respond."""

    def __init__(self, opa: Opa, endpoint: BundleEndpoint) -> None:
        self.revision = ""
        self._replaced: dict[str, float] = {}  # revisions served until then
        self._opa = opa
        self._endpoint = endpoint
        self._before = ""  # the time of OPA's last request before this bundle was served
        self._doubtful = False  # OPA had rejected another bundle by then, and may still report that
        self._given_up = ""  # the revision that OPA rejects, and that stays

    async def serve(self, bundle: Bundle) -> None:
        """Serve a bundle from now on. Raises OpaError, and serves nothing, if OPA does not respond."""
        status = await self._status()
        self._before, self._doubtful = (status.last_request, bool(status.code)) if status else ("", False)
        now = asyncio.get_running_loop().time()
        self._replaced = {old: when for old, when in self._replaced.items() if when > now - RECENT}
        self._replaced[self.revision] = now
        self.revision = bundle.revision
        self._given_up = ""
        await self._endpoint.serve_next(bundle)

    def was_served_recently(self, revision: str) -> bool:
        """Return whether a revision was replaced in the last RECENT seconds, so OPA may not have its successor yet."""
        return self._replaced.get(revision, -RECENT) > asyncio.get_running_loop().time() - RECENT

    async def is_active(self) -> bool:
        """Return whether OPA has activated the bundle. Raises BundleRefused if it rejects it."""
        status = await self._status()
        if status is None or status.active_revision == self.revision:
            return status is not None
        if (
            self._given_up == self.revision
            or not status.code
            or self._endpoint.handed != self.revision
            or status.last_request == self._before
        ):
            return False
        if self._doubtful:  # then the result of its next request counts
            self._before, self._doubtful = status.last_request, False
            return False
        raise BundleRefused(status.message, status.errors)

    def give_up(self) -> None:
        """Stop reporting why OPA rejects this bundle: there is no other to serve."""
        self._given_up = self.revision

    async def in_the_way(self, claimed: Collection[DataPath]) -> list[DataPath]:
        """Return the parts of `data` that OPA's bundle does not own yet, and that are not empty."""
        while claimed:
            owned = await self._owned()
            taken = await self._taken(claimed, owned)
            if not taken or owned == await self._owned():  # otherwise OPA has activated a bundle in between
                return taken
        return []

    async def _owned(self) -> list[DataPath]:
        roots = await self._opa.get(pointer("system", "bundles", BUNDLE_NAME, "manifest", "roots")) or []
        return [tuple(root.split("/")) for root in roots]

    async def _taken(self, claimed: Collection[DataPath], owned: Sequence[DataPath]) -> list[DataPath]:
        fresh = [path for path in claimed if not any(path[: len(root)] == root for root in owned)]
        limit = asyncio.Semaphore(_AT_ONCE)

        async def is_taken(path: DataPath) -> bool:
            async with limit:
                try:
                    found = await self._opa.get(pointer(*path))
                except OpaRejected:
                    return True  # rules of another author, which fail
            for root in owned:
                if overlap(root, path):
                    found = _without(found, root[len(path) :])
            return found is not None

        taken = await asyncio.gather(*(is_taken(path) for path in fresh))
        return [path for path, there in zip(fresh, taken, strict=True) if there]

    async def _status(self) -> BundleStatus | None:
        try:
            return await self._opa.bundle_status()
        except OpaRejected:
            # Its status plugin is off: then it reports active bundles, and never rejected ones.
            return BundleStatus(BUNDLE_NAME, await self._opa.bundle_revision() or "")


def _without(found: Any, path: DataPath) -> Any:
    """Return a document without the value at a path, None if nothing else is in it."""
    if not path:
        return None
    if not isinstance(found, dict) or path[0] not in found:
        return found
    rest = {name: value for name, value in found.items() if name != path[0]}
    below = _without(found[path[0]], path[1:])
    if below is not None:
        rest[path[0]] = below
    return rest or None
