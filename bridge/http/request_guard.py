"""Request guards: the right Host and Origin, a right token, and few wrong tokens from one peer."""

from __future__ import annotations

import hmac
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import structlog
from aiohttp import web

from bridge.http.gate import peer_of

log = structlog.get_logger(__name__)

BURST = 10  # wrong tokens of one peer at once
EVERY = 5.0  # seconds after which a peer may try once more
LOGGED_EVERY = 60.0  # seconds between two lines about one peer
LOGGED_PEERS = 20  # peers that are logged in this time
_MOST_PEERS = 4096  # peers that are remembered
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


def is_loopback(host: str) -> bool:
    """Return whether a host, in the form of an address or URL, is a loopback one."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


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


class WrongTokens:
    """Counts, logs and slows wrong tokens, by peer. `total` is their number; `listener` is their purpose."""

    def __init__(self, listener: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = 0
        self._listener = listener
        self._clock = clock
        # by peer: number of wrong tokens, and its time
        self._debts: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._logged: OrderedDict[str, float] = OrderedDict()

    def refusal(self, request: web.Request, message: str) -> Refused:
        """Note a wrong token; return its response: 401 with this message, and 429 if its peer has sent too many.

        A right token is never refused: clients behind one proxy share an address. What prevents guessing is its length.
        """
        self._log(request)
        peer, now = peer_of(request.remote or "unknown"), self._clock()
        debt = self._count_debt(peer)
        excess = debt - (BURST - 1)
        if excess > 0:
            wait = {"Retry-After": str(max(1, round(excess * EVERY)))}
            return Refused(429, "TooManyRequests", "too many wrong tokens: wait and try again", wait)
        self._debts[peer] = (debt + 1, now)
        self._debts.move_to_end(peer)
        if len(self._debts) > _MOST_PEERS:
            self._debts.popitem(last=False)
        return unauthorized(message)

    def _log(self, request: web.Request) -> None:
        self.total += 1
        peer, now = peer_of(request.remote or "unknown"), self._clock()
        while self._logged and next(iter(self._logged.values())) <= now - LOGGED_EVERY:
            self._logged.popitem(last=False)
        if peer not in self._logged and len(self._logged) < LOGGED_PEERS:
            self._logged[peer] = now
            log.warning("wrong token", listener=self._listener, peer=peer, path=request.path, total=self.total)

    def _count_debt(self, peer: str) -> float:
        count, since = self._debts.get(peer, (0.0, 0.0))
        return max(0.0, count - (self._clock() - since) / EVERY)


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
