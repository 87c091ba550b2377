"""The connections of one listener: each has a place at the gate, a clock for its heads, and a client that must read.

A client reads its responses, which wait in memory until then: a connection that reads less than LEAST_READ of a waiting
response in STALLED seconds is closed. All waiting responses have a maximum number of bytes together; above that, of the
peer with most of these bytes the connection that has waited longest for its client is closed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import Payload, web
from aiohttp.abc import AbstractStreamWriter

from bridge.http.gate import Gate, Limits, Place

STALLED = 30.0  # seconds in which a client reads LEAST_READ bytes of what waits for it
LEAST_READ = 1 << 16
PIECE = 1 << 15  # bytes of a response that are written at once


class Unread:
    """The bytes of one listener's responses that wait for clients, at most `limits.unread` of the gate."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._held: dict[Place, int] = {}  # bytes, the longest waiting connection first

    @property
    def size(self) -> int:
        """Return the number of bytes of responses that wait for clients to read them."""
        return sum(self._held.values())

    def hold(self, place: Place, size: int) -> None:
        """Note that so many bytes wait for the client; other clients that do not read give way to them."""
        self._held[place] = size
        while len(self._held) > 1 and self.size > self._gate.limits.unread:
            by_peer: Counter[str] = Counter()
            for held, held_size in self._held.items():
                by_peer[held.peer] += held_size
            [(peer, _)] = by_peer.most_common(1)
            self.drop(next(held for held in self._held if held.peer == peer))

    def release(self, place: Place) -> None:
        """Note that no more bytes wait for the client."""
        self._held.pop(place, None)

    def drop(self, place: Place) -> None:
        """Close a connection whose client does not read."""
        self.release(place)
        self._gate.close(place, "unread")


class Reading:
    """Whether the client of one connection reads what waits for it: from `begin` to `end`."""

    def __init__(self, unread: Unread, place: Place) -> None:
        self._unread = unread
        self._place = place
        self._next: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.WriteTransport, body: int, before: int | None = None) -> None:
        """Close the connection if the client has read too little since there were `before` bytes; look again later.

        `body` are the bytes of the response that are in memory until the client has read them.
        """
        if self._place.left:
            return
        size = transport.get_write_buffer_size()
        if before is not None and before - size < LEAST_READ:
            self._unread.drop(self._place)
            return
        self._next = asyncio.get_running_loop().call_later(STALLED, self.begin, transport, body, size)
        self._unread.hold(self._place, max(size, body))

    def end(self) -> None:
        """Note that the client has read everything, or that the connection is closed."""
        self._unread.release(self._place)
        if self._next is not None:
            self._next.cancel()
            self._next = None


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


LONGEST_HEAD = 10.0  # seconds for a TLS handshake, and from the first byte of a request to the end of its head
LONGEST_IDLE = 120.0  # seconds between two requests; an API server closes a connection after 90
_WITHOUT_BODY = {"GET", "HEAD"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Connections:
    """The connections of a listener within `limits`."""

    def __init__(self, limits: Limits) -> None:
        self.gate = Gate(limits)
        self.unread = Unread(self.gate)
        self._by_protocol: dict[object, Connection] = {}

    def admit(self, address: str) -> Connection | None:
        """Return a connection of a peer, None if its gate has no place for it."""
        place = self.gate.admit(address)
        return Connection(self, place) if place else None

    def serve(self, connection: Connection, protocol: asyncio.Protocol) -> None:
        """Serve the established connection with this protocol."""
        self._by_protocol[protocol] = connection
        self.gate.wait(connection.place)

    def leave(self, connection: Connection) -> None:
        """Note that the connection is closed."""
        self._by_protocol.pop(connection.protocol, None)
        self.gate.leave(connection.place)

    @web.middleware
    async def follow(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Track a connection's request: an aiohttp middleware."""
        connection = self._by_protocol.get(request.protocol)
        if connection is None:  # it uses another listener, or has just been closed
            return await handler(request)
        if request.method in _WITHOUT_BODY and request.can_read_body:  # no handler would take it from memory
            refusal = web.Response(status=400, text=f"a {request.method} request has no body\n")
            refusal.force_close()
            return refusal
        place = connection.place
        connection.begin()
        self.gate.wait(place)
        request.content.on_eof(lambda: self.gate.work(place) if connection.busy else None)
        try:
            response = await handler(request)
        finally:
            self.gate.wait(place)
            connection.busy = False
        if isinstance(response, web.Response) and isinstance(response.body, bytes):
            connection.body = len(response.body)
            if connection.body > PIECE:
                response.body = Pieces(response.body, content_type=response.content_type)
        return response


class Connection(asyncio.Protocol):
    """One connection; data goes to the `protocol` that it gets when it is established.

    `verify` returns, once it is established, whether its client has a verified certificate, and None for a client that
    is rejected.
    """

    def __init__(self, owner: Connections, place: Place) -> None:
        self.place = place
        self.busy = False
        self.body = 0  # bytes of the last response, which are in memory until the client has read them
        self.protocol: asyncio.Protocol | None = None
        self.make: Callable[[], asyncio.Protocol] | None = None
        self.verify: Callable[[asyncio.BaseTransport], bool | None] = lambda _: False
        self._owner = owner
        self._transport: asyncio.WriteTransport | None = None
        self._reading = Reading(owner.unread, place)
        self._paused = False  # whether the protocol knows that the client reads slowly
        self._patience: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Note that the head of a request has arrived."""
        self.busy = True
        self.body = 0
        self._stop_waiting()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Serve the connection, unless its client is rejected."""
        abort = transport.abort if isinstance(transport, asyncio.Transport) else transport.close
        verified = self.verify(transport)
        if self.place.left or self.make is None or verified is None:
            abort()
            return
        self.place.abort = abort
        if isinstance(transport, asyncio.WriteTransport):
            self._transport = transport
            # Report each byte that the operating system does not take, which is one that the client does not read.
            transport.set_write_buffer_limits(high=1, low=0)
        self.protocol = self.make()
        self._owner.serve(self, self.protocol)
        if verified:
            self._owner.gate.trust(self.place)
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
        if self._transport:
            self._reading.begin(self._transport, self.body)
        if self.protocol and not self.place.left:
            self._paused = True
            self.protocol.pause_writing()

    def resume_writing(self) -> None:
        """Pass on a resume: the client has read everything."""
        self._reading.end()
        if self.protocol and self._paused:
            self._paused = False
            self.protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on the end of the connection."""
        self._stop_waiting()
        self._reading.end()
        self._owner.leave(self)
        if self.protocol:
            self.protocol.connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._patience = asyncio.get_running_loop().call_later(LONGEST_HEAD, self.place.abort)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
