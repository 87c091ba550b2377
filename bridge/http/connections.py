"""The connections of one listener: each has a place at the gate, a clock for its heads, and a client that must read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from bridge.http.gate import Gate, Limits, Place
from bridge.http.unread import PIECE, Pieces, Reading, Unread

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
