"""Which connections of one listener stay open. The limits apply when a connection is accepted, before TLS.

The rules:
- At most `connections` are open, and at most `per_peer` of one address. An IPv6 peer is its /64 network, because one
  host may use all of it.
- When a limit is reached, the connection that has waited longest is closed: one in its handshake, between two requests,
  or with an incomplete body. When all are in use, it is one of the peer with most such connections.
- A connection with a request in progress is never closed. If every connection has one, the new connection is closed.
- A connection with a verified client certificate is not subject to its peer's limit, and is closed last.
"""

from __future__ import annotations

import ipaddress
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

QUIET = 0.25  # seconds that a connection has at least before it is closed
REASONS = ("full", "peer", "displaced", "handshake", "certificate", "unread")  # why a connection was closed
_VERIFIED = ""  # the group of connections with a verified client certificate, instead of their peers


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum number of connections of a listener, in total and of one peer; `per_peer` 0: no limit.

    `unread` is the maximum number of bytes of its responses that wait in memory for clients to read them.
    """

    connections: int = 2000  # more than twice the streams of the page, which leaves room for OPA and probes
    per_peer: int = 1000
    unread: int = 64 << 20


def do_nothing() -> None:
    """Do nothing: there is no connection to close."""


@dataclass(eq=False, slots=True)
class Place:
    """The place of a connection: of a peer, and in a group. `abort` closes the connection in any state."""

    peer: str
    group: str
    since: float = 0.0
    left: bool = False
    abort: Callable[[], object] = do_nothing


class Gate:
    """Gives places within `limits` and follows which of them wait. `closed` counts connections by REASONS."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.closed: Counter[str] = Counter()
        self._held: Counter[str] = Counter()  # places by group: a peer, or _VERIFIED
        self._waiting: dict[str, dict[Place, None]] = {}  # by group, the longest waiting one first

    @property
    def open(self) -> int:
        """Return the number of connections."""
        return self._held.total()

    def admit(self, address: str) -> Place | None:
        """Return a place for a peer, after closing another one's connection if necessary; None at the limit."""
        peer = peer_of(address)
        reason, group = "", ""
        if self.limits.per_peer and self._held[peer] >= self.limits.per_peer:
            reason, group = "peer", peer
        elif self.open >= self.limits.connections:
            reason, group = "full", max(self._waiting, key=self._rank, default=_VERIFIED)
        if reason and not self._displace(group):
            self.closed[reason] += 1
            return None
        place = Place(peer, peer)
        self._held[peer] += 1
        self.wait(place)
        return place

    def trust(self, place: Place) -> None:
        """Note that the connection has a verified client certificate."""
        self.work(place)
        self._held[place.group] -= 1
        place.group = _VERIFIED
        self._held[_VERIFIED] += 1
        self.wait(place)

    def wait(self, place: Place) -> None:
        """Note that the connection may be closed without losing a request."""
        if place.left:
            return
        self.work(place)
        place.since = time.monotonic()
        self._waiting.setdefault(place.group, {})[place] = None

    def work(self, place: Place) -> None:
        """Note that a request of this connection is in progress."""
        waiting = self._waiting.get(place.group, {})
        waiting.pop(place, None)
        if not waiting:
            self._waiting.pop(place.group, None)

    def close(self, place: Place, reason: str) -> None:
        """Close a connection for one of REASONS."""
        self.closed[reason] += 1
        abort = place.abort
        self.leave(place)
        abort()

    def leave(self, place: Place) -> None:
        """Note that the connection is closed."""
        if place.left:
            return
        self.work(place)
        place.left = True
        place.abort = do_nothing  # it references the connection's owner, and TLS buffers are large
        self._held[place.group] -= 1
        if not self._held[place.group]:
            del self._held[place.group]

    def _rank(self, group: str) -> tuple[bool, int]:
        return group != _VERIFIED, len(self._waiting[group])

    def _displace(self, group: str) -> bool:
        longest = next(iter(self._waiting.get(group, ())), None)
        if longest is None or time.monotonic() - longest.since < QUIET:
            return False
        self.close(longest, "displaced")
        return True


def peer_of(address: str) -> str:
    """Return the peer: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, 64), strict=False))
