"""The site for people and programs: its routes, their shared parts, the files of the page, and authentication.

A request needs the right Host and Origin, and a token if the bridge listens beyond loopback.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import hmac
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from bridge import tracing
from bridge.http.bodies import BODIES, Bodies
from bridge.http.connections import Handler
from bridge.http.listeners import ServeError, checked_web_token, web_token_of
from bridge.http.request_guard import (
    Refused,
    WrongTokens,
    bearer_of,
    check_host,
    check_origin,
    same,
    unauthorized,
)
from bridge.model.addresses import is_loopback
from bridge.opa.credentials import TokenError
from bridge.settings.model import Settings
from bridge.sidecar.program import Backing
from bridge.web.backing import PresentBacking
from bridge.web.findings import Problems, Violations
from bridge.web.picture_updates import Drawing
from bridge.web.proxies import Proxies
from bridge.web.queries import Changes, EffectiveStream, Queries, explain_reasons
from bridge.web.responses import FREE, MOST_BODIES, Streams, answer, body_of, decoded, refusal
from bridge.web.subscriptions import Following
from bridge.web.topology import Topology

COOKIE = "policy-bridge"
_MOST = 4096  # bytes of a login


class Guard:
    """Passes requests to handlers.

    `token` returns the current token. None if none is required: then only requests with this machine as the Host are
    answered, which prevents DNS rebinding.
    """

    def __init__(self, token: Callable[[], str] | None) -> None:
        self.wrong_tokens = WrongTokens("page")
        self._token = token

    def open(self, handler: Handler) -> Handler:
        """Guard public content, such as the page's files, without a token."""
        return self._wrapped(handler, check_token=False)

    def closed(self, handler: Handler) -> Handler:
        """Guard everything else."""
        return self._wrapped(handler, check_token=True)

    async def login(self, request: web.Request) -> web.Response:
        """Answer `POST /api/login`, `{"token": …}`: set the cookie that replaces the token in a browser."""
        if self._token is None:
            return answer({"token": False})
        async with body_of(request, _MOST) as content:
            given = decoded(content).get("token")
        present = self._present()
        if not isinstance(given, str) or not same(given.strip(), present):
            raise self.wrong_tokens.refusal(request, "wrong token")
        response = answer({"token": True})
        # Only for this host, never for a request from another site, and no script reads it.
        response.set_cookie(
            COOKIE, _stamp(present), httponly=True, samesite="Strict", path="/", secure=_is_secure(request)
        )
        return response

    def _wrapped(self, handler: Handler, *, check_token: bool) -> Handler:
        @functools.wraps(handler)
        async def guarded(request: web.Request) -> web.StreamResponse:
            try:
                if self._token is None:
                    check_host(request, "or give the bridge a --web-token-file")
                check_origin(request)
                if check_token:
                    self._check_token(request)
                with tracing.span(_route(request), kind="server", carrier=request.headers):
                    return await handler(request)
            except Exception as error:
                response = refusal(error)
                if response is None:
                    raise
                return response

        return guarded

    def _check_token(self, request: web.Request) -> None:
        if self._token is None:
            return
        if _has(request, self._present()):
            return
        message = "a token is required: Authorization: Bearer …, or log in"
        raise unauthorized(message) if bearer_of(request) is None else self.wrong_tokens.refusal(request, message)

    def still_allows(self, request: web.Request) -> bool:
        """Return whether an open stream may continue: its token is the current one, or that cannot be read now."""
        if self._token is None:
            return True
        try:
            return _has(request, self._present())
        except Refused:
            return True

    def _present(self) -> str:
        try:
            present = self._token() if self._token else ""
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(503, "NotReady", "the token file cannot be read") from error
        try:
            return checked_web_token(present)
        except TokenError as error:
            raise Refused(503, "NotReady", f"the token file cannot be used: {error}") from error


def _route(request: web.Request) -> str:
    """Return the method and the route, without names of objects."""
    resource = request.match_info.route.resource
    return f"{request.method} {resource.canonical if resource else ''}"


def _has(request: web.Request, token: str) -> bool:
    given = bearer_of(request)
    return same(request.cookies.get(COOKIE, ""), _stamp(token)) or (given is not None and same(given, token))


def _stamp(token: str) -> str:
    """Return the value of the cookie: derived from the token, so it survives a restart and ends with the token."""
    return hmac.new(token.encode(), b"policy-bridge page", hashlib.sha256).hexdigest()


def _is_secure(request: web.Request) -> bool:
    return request.secure or request.headers.get("X-Forwarded-Proto", "") == "https"


def site_of(settings: Settings) -> WebSite:
    """Return the site of the settings. Raises ServeError if other machines could read it without a token."""
    token = web_token_of(settings.web_token_file)
    if token is None and not is_loopback(settings.listen_address[0]):
        raise ServeError(
            f"--listen {settings.listen} is reachable from other machines: set --web-token-file FILE, and "
            "give the token to the users of the page"
        )
    return WebSite(Guard(token), settings)


class WebSite:
    """The routes of the page and its JSON. Until `open` they respond that the bridge is starting."""

    def __init__(self, guard: Guard, settings: Settings) -> None:
        self.wrong_tokens = guard.wrong_tokens
        self._guard = guard
        self._backing = backing = PresentBacking(settings)
        self._queries = Queries(backing, Proxies(settings.config_dumps))
        self._changes = Changes(backing)
        streams = Streams(allows=guard.still_allows)
        self._drawing = Drawing()
        self._violations = Violations(backing)
        self._problems = Problems(backing, self._drawing.journal)
        self._topology = Topology(self._drawing, self._violations, streams, backing, _page())
        self._following = Following()
        self._effective = EffectiveStream(backing, self._following, streams)

    def add_to(self, app: web.Application) -> None:
        """Add all routes to an application."""
        app[BODIES] = Bodies(MOST_BODIES, FREE)
        get, post, guard = app.router.add_get, app.router.add_post, self._guard
        post("/api/login", guard.open(guard.login))
        get("/v1/effective", guard.closed(self._effective.get))
        get("/api/topology", guard.closed(self._topology.get))
        get("/api/stream", guard.closed(self._topology.stream))
        get("/api/uncovered", guard.closed(self._queries.uncovered))
        get("/api/problems", guard.closed(self._problems.get))
        get("/api/violations", guard.closed(self._violations.get))
        get("/api/reasons", guard.open(explain_reasons))
        get("/api/events", guard.closed(self._queries.events))
        get("/api/object", guard.closed(self._queries.object))
        post("/api/query/{name}", guard.closed(self._queries.post))
        post("/api/changes", guard.closed(self._changes.post))
        get("/", guard.open(static_file))
        get("/{name:.+}", guard.open(static_file))

    def open(self, backing: Backing) -> None:
        """Note that OPA is running: respond from now on."""
        self._backing.open(backing)
        self._drawing.open(backing)
        self._following.open(backing)


_ROOT = Path(__file__).resolve().parent / "static"
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
# No content from other hosts, no inline content, no frames, no forms to other sites.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Always revalidated, with 304 if unchanged: a page and its script have the same version.
    "Cache-Control": "no-cache",
}


async def static_file(request: web.Request) -> web.Response:
    """Return one file; `/` is index.html. Raises Refused if it does not exist."""
    name = request.match_info.get("name") or "index.html"
    if name not in _names():
        raise Refused(404, "NotFound", f"{request.path} does not exist")
    file = _file(name)
    headers = {**_HEADERS, "ETag": file.etag, "Vary": "Accept-Encoding"}
    if request.headers.get("If-None-Match") == file.etag:
        return web.Response(status=304, headers=headers)
    body = file.content
    if "gzip" in request.headers.get("Accept-Encoding", "").lower():
        body = file.compressed
        headers["Content-Encoding"] = "gzip"
    return web.Response(body=body, headers=headers, content_type=_TYPES[Path(name).suffix], charset="utf-8")


class _PageFile(NamedTuple):
    content: bytes
    compressed: bytes  # by gzip
    etag: str


@cache
def _file(name: str) -> _PageFile:
    """Return a file, which all responses share: they hold no bytes of their own, and need no compression."""
    content = (_ROOT / name).read_bytes()
    return _PageFile(content, gzip.compress(content, mtime=0), f'"{_digest(content)}"')


@cache
def _page() -> str:
    """Return a digest of all files: an open page compares it with that of its own files."""
    return _digest(b"".join(_file(name).content for name in sorted(_names())))[:16]


@cache
def _names() -> frozenset[str]:
    """Return the served files. No path is made from a client's name."""
    return frozenset(str(path.relative_to(_ROOT)) for path in _ROOT.rglob("*") if path.suffix in _TYPES)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
