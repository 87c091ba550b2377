"""Responses that wait in memory until their clients read them.

A client reads its responses: a connection that reads less than LEAST_READ of a waiting response in STALLED seconds is
closed. All waiting responses have a maximum number of bytes together; above that, of the peer with most of these bytes
the connection that has waited longest for its client is closed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from aiohttp import Payload
from aiohttp.abc import AbstractStreamWriter

from bridge.http.gate import Gate, Place

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
