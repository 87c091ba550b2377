"""Bodies of requests in memory: for each a size and a time, for all of an application a limit.

The first `free` bytes of a body are not limited, as the number of connections is. All other bytes are at most
`most`, those of one peer at most half of it; clients with a verified certificate are one peer that may have all.
Above a limit, the body that has been on its way longest gives way: of that peer, or of the peer with most bytes. A
client that holds its bodies back therefore delays no other one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import web

from bridge.http.gate import peer_of
from bridge.http.request_guard import Refused

_VERIFIED = ""  # the peer of all clients with a verified certificate


@dataclass(eq=False, slots=True)
class _Body:
    """A body in memory: its counted bytes, and the clock for its arrival; None after that."""

    peer: str
    size: int = 0
    counted: int = 0
    clock: asyncio.Timeout | None = None
    displaced: bool = False


class Bodies:
    """The bodies of an application's requests; `what` names one in messages."""

    def __init__(self, most: int, free: int, what: str = "body") -> None:
        self._most = most
        self._free = free
        self._what = what
        self._held: dict[str, dict[_Body, None]] = {}  # by peer, the longest waiting one first
        self._counted: Counter[str] = Counter()  # bytes by peer

    @property
    def counted(self) -> int:
        """Return the bytes that count."""
        return self._counted.total()

    @contextlib.asynccontextmanager
    async def read(self, request: web.Request, largest: int, patience: float) -> AsyncIterator[bytes]:
        """Yield the body of a request, of at most `largest` bytes, that arrives within `patience` seconds.

        It counts until the block ends. Raises Refused.
        """
        if (request.content_length or 0) > largest:
            raise self._too_large(largest)
        body = _Body(_VERIFIED if is_verified(request) else peer_of(request.remote or ""))
        self._held.setdefault(body.peer, {})[body] = None
        try:
            yield await self._receive(request, body, largest, patience)
        finally:
            self._count(body, -body.counted)
            del self._held[body.peer][body]
            if not self._held[body.peer]:
                del self._held[body.peer]

    async def _receive(self, request: web.Request, body: _Body, largest: int, patience: float) -> bytes:
        parts = []
        try:
            async with asyncio.timeout(patience) as body.clock:
                while part := await request.content.readany():
                    body.size += len(part)
                    if body.size > largest:
                        raise self._too_large(largest)
                    self._count(body, max(body.size - self._free, 0) - body.counted)
                    self._make_room(body)
                    parts.append(part)
        except TimeoutError as error:
            if body.displaced:
                raise self._too_many() from error
            raise Refused(408, "TooSlow", f"the {self._what} did not arrive within {patience:g} s") from error
        except web.RequestPayloadError as error:
            message = f"the {self._what} is incomplete, or its encoding differs from its headers"
            raise Refused(400, "InvalidInput", message) from error
        finally:
            body.clock = None
        return b"".join(parts)

    def _make_room(self, growing: _Body) -> None:
        """Displace bodies on their way until all fit. Raises Refused if that is the growing one."""
        while (peer := self._find_crowd(growing.peer)) is not None:
            victim = next((body for body in self._held[peer] if body.clock and not body.displaced), growing)
            if victim is growing or victim.clock is None:
                raise self._too_many()
            victim.displaced = True
            victim.clock.reschedule(asyncio.get_running_loop().time())
            self._count(victim, -victim.counted)

    def _find_crowd(self, growing: str) -> str | None:
        """Return the peer that has too many bytes, None if all fit."""
        if growing != _VERIFIED and self._counted[growing] > self._most // 2:
            return growing
        return self._counted.most_common(1)[0][0] if self._counted.total() > self._most else None

    def _count(self, body: _Body, more: int) -> None:
        body.counted += more
        self._counted[body.peer] += more
        if not self._counted[body.peer]:
            del self._counted[body.peer]

    def _too_large(self, largest: int) -> Refused:
        return Refused(413, "TooLarge", f"the {self._what} is larger than {largest} bytes")

    def _too_many(self) -> Refused:
        message = f"too many large requests at once, and this {self._what} took longest to arrive: send it again"
        return Refused(429, "TooManyRequests", message, {"Retry-After": "1"})


BODIES = web.AppKey("bodies", Bodies)  # of an application


def is_verified(request: web.Request) -> bool:
    """Return whether the client has a certificate, which TLS has verified."""
    return bool(request.get_extra_info("peercert"))
