"""Request guards: the right Host and Origin, and a right token."""

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import structlog
from aiohttp import web

from bridge.http.gate import peer_of
from bridge.model.addresses import is_loopback

log = structlog.get_logger(__name__)

LOGGED_EVERY = 60.0  # seconds between two lines about one peer
LOGGED_PEERS = 20  # peers that are logged in this time
_READING = {"GET", "HEAD"}
_OF_PROXIES = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")  # headers by which a proxy shows itself
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="policy-bridge"'}


class Refused(Exception):
    """A rejected request: a status, a code for programs, and a line for people."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers or {}


def unauthorized(message: str) -> Refused:
    """Return the response to a request without the right token."""
    return Refused(401, "Unauthorized", message, _CHALLENGE)


def is_local(request: web.Request) -> bool:
    """Return whether a client on this machine sends the request: no proxy with its headers, no page in a browser."""
    if not is_loopback(request.remote or "") or any(name in request.headers for name in _OF_PROXIES):
        return False
    try:
        check_host(request, "")
        check_origin(request)
    except Refused:
        return False
    return True


def check_host(request: web.Request, instead: str) -> None:
    """Reject a request for another host than this machine: another name may resolve here (DNS rebinding)."""
    if not is_loopback(_read_host(f"//{request.host}")):
        raise Refused(
            421, "WrongHost", f"{request.host!r} is not a name of this bridge: use 127.0.0.1 or localhost, {instead}"
        )


def check_origin(request: web.Request) -> None:
    """Reject a request that a page of another origin made a browser send."""
    origin = request.headers.get("Origin")
    if origin is not None and _read_netloc(origin) != request.host.lower():
        raise Refused(403, "WrongOrigin", f"requests from {origin!r} are not answered")
    # A link to the page may be anywhere; other requests from other sites are rejected.
    site = request.headers.get("Sec-Fetch-Site", "none")
    navigates = request.method in _READING and request.headers.get("Sec-Fetch-Mode") == "navigate"
    if site not in {"none", "same-origin"} and not navigates:
        raise Refused(403, "WrongOrigin", "requests from other sites are rejected")


def bearer_of(request: web.Request) -> str | None:
    """Return the bearer token of a request; None if it has none."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else None


def same(given: str, wanted: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())


def digest_of(token: str) -> bytes:
    """Return what tokens are found by: the time to find it tells nothing about a token."""
    return hashlib.sha256(token.encode(errors="replace")).digest()


class WrongTokens:
    """Counts wrong tokens, and logs them by peer. `total` is their number; `listener` is their purpose."""

    def __init__(self, listener: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = 0
        self._listener = listener
        self._clock = clock
        self._logged: OrderedDict[str, float] = OrderedDict()

    def refusal(self, request: web.Request, message: str) -> Refused:
        """Note a wrong token; return its response with this message. What prevents guessing is a token's length."""
        self.total += 1
        peer, now = peer_of(request.remote or "unknown"), self._clock()
        while self._logged and next(iter(self._logged.values())) <= now - LOGGED_EVERY:
            self._logged.popitem(last=False)
        if peer not in self._logged and len(self._logged) < LOGGED_PEERS:
            self._logged[peer] = now
            log.warning("wrong token", listener=self._listener, peer=peer, path=request.path, total=self.total)
        return unauthorized(message)


def _read_host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _read_netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # such as http://[
        return ""
