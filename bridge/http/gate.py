"""Limits for the connections of one listener. They apply when a connection is accepted, before TLS.

The rules:
- At most `connections` are open, and at most `per_peer` of one address. An IPv6 peer is its /64 network, because one
  host may use all of it.
- When a limit is reached, the connection that has waited longest is closed: one in its handshake, between two requests,
  or with an incomplete body. When all are in use, it is one of the peer with most such connections.
- A connection with a request in progress is never closed. If every connection has one, the new connection is closed.
- A connection with a verified client certificate is not subject to its peer's limit, and is closed last.
- A client reads its responses: a connection that reads less than LEAST_READ of a waiting response in STALLED seconds is
  closed. All waiting responses have at most `unread` bytes together; above that, of the peer with most of these bytes
  the connection that has waited longest for its client is closed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import Payload, web
from aiohttp.abc import AbstractStreamWriter

LONGEST_HEAD = 10.0  # seconds for a TLS handshake, and from the first byte of a request to the end of its head
LONGEST_IDLE = 120.0  # seconds between two requests; an API server closes a connection after 90
QUIET = 0.25  # seconds that a connection has at least before it is closed
STALLED = 30.0  # seconds in which a client reads LEAST_READ bytes of what waits for it
LEAST_READ = 1 << 16
PIECE = 1 << 15  # bytes of a response that are written at once
REASONS = ("full", "peer", "displaced", "handshake", "certificate", "unread")  # why a connection was closed
_WITHOUT_BODY = {"GET", "HEAD"}
_VERIFIED = ""  # the group of connections with a verified client certificate, instead of their peers

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum number of connections of a listener, in total and of one peer; `per_peer` 0: no limit.

    `unread` is the maximum number of bytes of its responses that wait in memory for clients to read them.
    """

    connections: int = 2000  # more than twice the streams of the page, which leaves room for OPA and probes
    per_peer: int = 1000
    unread: int = 64 << 20


class Gate:
    """Admits connections within `limits` and follows the state of each. `closed` counts by REASONS."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.closed: Counter[str] = Counter()
        self._held: Counter[str] = Counter()  # connections by group: a peer, or _VERIFIED
        self._waiting: dict[str, dict[Connection, None]] = {}  # by group, the longest waiting one first
        self._by_protocol: dict[object, Connection] = {}
        self._unread: dict[Connection, int] = {}  # bytes that wait for the client, the longest waiting one first

    @property
    def unread(self) -> int:
        """Return the number of bytes of responses that wait for clients to read them."""
        return sum(self._unread.values())

    @property
    def open(self) -> int:
        """Return the number of connections."""
        return self._held.total()

    def admit(self, address: str) -> Connection | None:
        """Return a connection of a peer, after closing another one if necessary; None if the limit is reached."""
        peer = peer_of(address)
        reason, group = "", ""
        if self.limits.per_peer and self._held[peer] >= self.limits.per_peer:
            reason, group = "peer", peer
        elif self.open >= self.limits.connections:
            reason, group = "full", max(self._waiting, key=self._rank, default=_VERIFIED)
        if reason and not self._displace(group):
            self.closed[reason] += 1
            return None
        connection = Connection(self, peer)
        self._held[peer] += 1
        self.wait(connection)
        return connection

    @web.middleware
    async def follow(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Track a connection's request: an aiohttp middleware."""
        connection = self._by_protocol.get(request.protocol)
        if connection is None:  # it uses another listener
            return await handler(request)
        if request.method in _WITHOUT_BODY and request.can_read_body:  # no handler would take it from memory
            refusal = web.Response(status=400, text=f"a {request.method} request has no body\n")
            refusal.force_close()
            return refusal
        connection.begin()
        self.wait(connection)
        request.content.on_eof(lambda: self.work(connection) if connection.busy else None)
        try:
            response = await handler(request)
        finally:
            self.wait(connection)
            connection.busy = False
        if isinstance(response, web.Response) and isinstance(response.body, bytes):
            connection.body = len(response.body)
            if connection.body > PIECE:
                response.body = Pieces(response.body, content_type=response.content_type)
        return response

    def serve(self, connection: Connection, protocol: asyncio.Protocol) -> None:
        """Serve the established connection with this protocol."""
        self._by_protocol[protocol] = connection
        self.wait(connection)

    def trust(self, connection: Connection) -> None:
        """Note that the connection has a verified client certificate."""
        self.work(connection)
        self._held[connection.group] -= 1
        connection.group = _VERIFIED
        self._held[_VERIFIED] += 1
        self.wait(connection)

    def wait(self, connection: Connection) -> None:
        """Note that the connection may be closed without losing a request."""
        if connection.left:
            return
        self.work(connection)
        connection.since = time.monotonic()
        self._waiting.setdefault(connection.group, {})[connection] = None

    def work(self, connection: Connection) -> None:
        """Note that a request of this connection is in progress."""
        waiting = self._waiting.get(connection.group, {})
        waiting.pop(connection, None)
        if not waiting:
            self._waiting.pop(connection.group, None)

    def hold(self, connection: Connection, size: int) -> None:
        """Note that so many bytes wait for the client; other clients that do not read give way to them."""
        self._unread[connection] = size
        while len(self._unread) > 1 and self.unread > self.limits.unread:
            by_peer: Counter[str] = Counter()
            for held, held_size in self._unread.items():
                by_peer[held.peer] += held_size
            [(peer, _)] = by_peer.most_common(1)
            self.drop_unread(next(held for held in self._unread if held.peer == peer))

    def release(self, connection: Connection) -> None:
        """Note that no more bytes wait for the client."""
        self._unread.pop(connection, None)

    def drop_unread(self, connection: Connection) -> None:
        """Close a connection whose client does not read."""
        self.closed["unread"] += 1
        abort = connection.abort
        self.leave(connection)
        abort()

    def leave(self, connection: Connection) -> None:
        """Note that the connection is closed."""
        self.release(connection)
        if connection.left:
            return
        self.work(connection)
        connection.left = True
        connection.abort = _do_nothing  # it references the connection's owner, and TLS buffers are large
        self._by_protocol.pop(connection.protocol, None)
        self._held[connection.group] -= 1
        if not self._held[connection.group]:
            del self._held[connection.group]

    def _rank(self, group: str) -> tuple[bool, int]:
        return group != _VERIFIED, len(self._waiting[group])

    def _displace(self, group: str) -> bool:
        longest = next(iter(self._waiting.get(group, ())), None)
        if longest is None or time.monotonic() - longest.since < QUIET:
            return False
        self.closed["displaced"] += 1
        abort = longest.abort
        self.leave(longest)
        abort()
        return True


class Pieces(Payload):
    """A body that is written as its client reads it, so that a connection copies at most one piece of it.

    aiohttp's own stream keeps more than 128 KiB for a client that reads nothing.
    """

    def __init__(self, content: bytes, **options: Any) -> None:
        super().__init__(content, **options)
        self._size = len(content)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the body as text."""
        return str(self._value, encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write the body; each piece waits until the client has read the one before."""
        content = memoryview(self._value)
        for begin in range(0, len(content), PIECE):
            await writer.write(content[begin : begin + PIECE])
            await writer.drain()


class Connection(asyncio.Protocol):
    """One connection; data goes to the `protocol` that it gets when it is established.

    `abort` closes it in any state. `verify` returns, once it is established, whether its client has a verified
    certificate, and None for a client that is rejected.
    """

    def __init__(self, gate: Gate, peer: str) -> None:
        self.group = peer
        self.peer = peer
        self.since = 0.0
        self.left = False
        self.busy = False
        self.body = 0  # bytes of the last response, which are in memory until the client has read them
        self.protocol: asyncio.Protocol | None = None
        self.make: Callable[[], asyncio.Protocol] | None = None
        self.verify: Callable[[asyncio.BaseTransport], bool | None] = lambda _: False
        self.abort: Callable[[], object] = _do_nothing
        self._gate = gate
        self._transport: asyncio.WriteTransport | None = None
        self._paused = False  # whether the protocol knows that the client reads slowly
        self._patience: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Note that the head of a request has arrived."""
        self.busy = True
        self.body = 0
        self._stop_waiting()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Serve the connection, unless its client is rejected."""
        abort = transport.abort if isinstance(transport, asyncio.Transport) else transport.close
        verified = self.verify(transport)
        if self.left or self.make is None or verified is None:
            abort()
            return
        self.abort = abort
        if isinstance(transport, asyncio.WriteTransport):
            self._transport = transport
            # Report each byte that the operating system does not take, which is one that the client does not read.
            transport.set_write_buffer_limits(high=1, low=0)
        self.protocol = self.make()
        self._gate.serve(self, self.protocol)
        if verified:
            self._gate.trust(self)
        self._wait_for_head()
        self.protocol.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass on the client's data."""
        if self.protocol is None:
            return
        if not self.busy and self._patience is None:
            self._wait_for_head()
        self.protocol.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass on the end of the client's data."""
        return self.protocol.eof_received() if self.protocol else None

    def pause_writing(self) -> None:
        """Pass on a pause: the client reads slowly."""
        self._await_reading()
        if self.protocol and not self.left:
            self._paused = True
            self.protocol.pause_writing()

    def resume_writing(self) -> None:
        """Pass on a resume: the client has read everything."""
        self._stop_awaiting()
        if self.protocol and self._paused:
            self._paused = False
            self.protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on the end of the connection."""
        self._stop_waiting()
        self._stop_awaiting()
        self._gate.leave(self)
        if self.protocol:
            self.protocol.connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._patience = asyncio.get_running_loop().call_later(LONGEST_HEAD, self.abort)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _await_reading(self, before: int | None = None) -> None:
        """Close the connection if the client has read too little since there were `before` bytes; look again later."""
        if self._transport is None or self.left:
            return
        size = self._transport.get_write_buffer_size()
        if before is not None and before - size < LEAST_READ:
            self._gate.drop_unread(self)
            return
        self._stall = asyncio.get_running_loop().call_later(STALLED, self._await_reading, size)
        self._gate.hold(self, max(size, self.body))

    def _stop_awaiting(self) -> None:
        self._gate.release(self)
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None


def _do_nothing() -> None:
    """Do nothing: there is no connection to close."""


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
