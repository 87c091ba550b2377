"""Who may ask: the right Host and Origin, and where the bridge listens to more than its own machine, a token."""

from __future__ import annotations

import functools
import hashlib
import hmac
import ipaddress
from collections.abc import Callable
from urllib.parse import urlsplit

from aiohttp import web

from bridge.web.answering import Handler, Refused, answer, body_of, decoded, refusal

COOKIE = "policy-bridge"
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="policy-bridge"'}
_READING = {"GET", "HEAD"}
_MOST = 4096  # bytes of a login


def is_loopback(host: str) -> bool:
    """Whether a host, as it is written in an address or URL, is this machine for itself alone."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class Guard:
    """Lets requests through to handlers.

    `token` gives the present token. None where none is wanted: then only who names this machine itself as the Host is
    answered, so that no page of another host can be pointed here by its name (DNS rebinding).
    """

    def __init__(self, token: Callable[[], str] | None) -> None:
        self._token = token

    def open(self, handler: Handler) -> Handler:
        """For what holds no secret, as the page's files do: no token is asked for."""
        return self._wrapped(handler, check_token=False)

    def closed(self, handler: Handler) -> Handler:
        """For everything else."""
        return self._wrapped(handler, check_token=True)

    async def login(self, request: web.Request) -> web.Response:
        """`POST /api/login`, `{"token": …}`: gives a browser the cookie that stands for the token."""
        if self._token is None:
            return answer({"token": False})
        given = decoded(await body_of(request, _MOST)).get("token")
        present = self._present()
        if not isinstance(given, str) or not _same(given.strip(), present):
            raise Refused(401, "Unauthorized", "this is not the token", _CHALLENGE)
        response = answer({"token": True})
        # Only for this host, never for a request that another site has made, and no script reads it.
        response.set_cookie(
            COOKIE, _stamp(present), httponly=True, samesite="Strict", path="/", secure=_is_secure(request)
        )
        return response

    def _wrapped(self, handler: Handler, *, check_token: bool) -> Handler:
        @functools.wraps(handler)
        async def guarded(request: web.Request) -> web.StreamResponse:
            try:
                self._check_host(request)
                _check_origin(request)
                if check_token:
                    self._check_token(request)
                return await handler(request)
            except Exception as error:
                told = refusal(error)
                if told is None:
                    raise
                return told

        return guarded

    def _check_host(self, request: web.Request) -> None:
        if self._token is None and not is_loopback(_host_of(f"//{request.host}")):
            raise Refused(
                421,
                "WrongHost",
                f"{request.host!r} is not how this bridge is reached: ask 127.0.0.1 or localhost, or give the bridge a "
                "--web-token-file",
            )

    def _check_token(self, request: web.Request) -> None:
        if self._token is None:
            return
        present = self._present()
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), present):
            return
        if _same(request.cookies.get(COOKIE, ""), _stamp(present)):
            return
        raise Refused(401, "Unauthorized", "a token is needed: Authorization: Bearer …, or log in", _CHALLENGE)

    def _present(self) -> str:
        try:
            present = self._token() if self._token else ""
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(503, "NotReady", "the file with the token cannot be read") from error
        if not present:
            raise Refused(503, "NotReady", "the file with the token is empty")
        return present


def _check_origin(request: web.Request) -> None:
    """Refuse what a page of another origin has made a browser send."""
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.host.lower():
        raise Refused(403, "WrongOrigin", f"requests from {origin!r} are not answered")
    # A link to the page may stand anywhere; whatever else another site sends is none of its business.
    site = request.headers.get("Sec-Fetch-Site", "none")
    navigates = request.method in _READING and request.headers.get("Sec-Fetch-Mode") == "navigate"
    if site not in {"none", "same-origin"} and not navigates:
        raise Refused(403, "WrongOrigin", "requests from pages of other sites are not answered")


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())


def _stamp(token: str) -> str:
    """What the cookie holds: made from the token, so that it is good after a restart and ends with the token."""
    return hmac.new(token.encode(), b"policy-bridge page", hashlib.sha256).hexdigest()


def _is_secure(request: web.Request) -> bool:
    return request.secure or request.headers.get("X-Forwarded-Proto", "") == "https"
