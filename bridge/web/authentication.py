"""Authentication: the right Host and Origin, and a token if the bridge listens beyond loopback."""

from __future__ import annotations

import functools
import hashlib
import hmac
from collections.abc import Callable

from aiohttp import web

from bridge import tracing
from bridge.http.listeners import checked_web_token
from bridge.http.request_guard import (
    Handler,
    Refused,
    WrongTokens,
    bearer_of,
    check_host,
    check_origin,
    same,
    unauthorized,
)
from bridge.opa.credentials import TokenError
from bridge.web.responses import answer, body_of, decoded, refusal

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
        self.wrong_tokens.check(request)
        given = decoded(await body_of(request, _MOST)).get("token")
        present = self._present()
        if not isinstance(given, str) or not same(given.strip(), present):
            self.wrong_tokens.note(request)
            raise unauthorized("wrong token")
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
                told = refusal(error)
                if told is None:
                    raise
                return told

        return guarded

    def _check_token(self, request: web.Request) -> None:
        if self._token is None:
            return
        present = self._present()
        # The cookie is a sum of 256 bits, which cannot be guessed, so logged-in users are not slowed by neighbors.
        if _is_logged_in(request, present):
            return
        given = bearer_of(request)
        if given is not None:
            self.wrong_tokens.check(request)
            if same(given, present):
                return
            self.wrong_tokens.note(request)
        raise unauthorized("a token is required: Authorization: Bearer …, or log in")

    def still_allows(self, request: web.Request) -> bool:
        """Return whether an open stream may continue: its token is the current one, or that cannot be read now."""
        if self._token is None:
            return True
        try:
            present = self._present()
        except Refused:
            return True
        given = bearer_of(request)
        return _is_logged_in(request, present) or (given is not None and same(given, present))

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


def _is_logged_in(request: web.Request, present: str) -> bool:
    return same(request.cookies.get(COOKIE, ""), _stamp(present))


def _stamp(token: str) -> str:
    """Return the value of the cookie: derived from the token, so it survives a restart and ends with the token."""
    return hmac.new(token.encode(), b"policy-bridge page", hashlib.sha256).hexdigest()


def _is_secure(request: web.Request) -> bool:
    return request.secure or request.headers.get("X-Forwarded-Proto", "") == "https"
