"""Floods of connections to a port: silent ones, silent TLS, unfinished requests, and abandoned pastes.

Each uses its own loopback address, so that a server can distinguish the attackers from the API server.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

_AGAIN = 2.0  # seconds until a connection that the server closed, or refused, is opened again
_BODY = 8 << 20  # bytes of a request
_PIECE = 1 << 18
_BETWEEN = 0.05  # seconds between two pieces: many such requests together must not be a test of bandwidth
_NEVER = 3600.0
_PASTE = b"- []\n" * 800_000
_REVIEW = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",'
    b'"kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},'
    b'"name":"invented","namespace":"quiet","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"invented",'
    b'"namespace":"quiet"}}}}'
)


@dataclass(frozen=True, slots=True)
class Flood:
    """The number of connections of each kind to keep open to a port. `tls`: whether the port uses TLS."""

    name: str
    port: int
    tls: bool
    silent: int = 0  # TCP alone
    idle: int = 0  # after the handshake nothing, or half a request line
    slow: int = 0  # the last byte of a body is missing
    pastes: int = 0  # manifests that take long to read, by clients that leave
    reviews: int = 0  # whole requests, by clients that are not the API server, one after the other


Kind = Callable[[Flood, str], Awaitable[None]]


@dataclass
class Floods:
    """Keep floods running; `counts` has the number of opened, closed and refused connections."""

    floods: list[Flood]
    counts: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Keep the connections open until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for number, flood in enumerate(self.floods):
                kinds: tuple[tuple[str, Kind, int], ...] = (
                    ("silent", self._silent, flood.silent),
                    ("idle", self._idle, flood.idle),
                    ("slow", self._slow, flood.slow),
                    ("review", self._review, flood.reviews),
                    ("paste", self._paste, flood.pastes),
                )
                for place, (name, kind, count) in enumerate(kinds):
                    source = f"127.0.{number + 1}.{place + 2}"
                    for _ in range(count):
                        tasks.create_task(self._again(f"{name}_{flood.name}", kind, flood, source))
                    await asyncio.sleep(1)

    async def _again(self, name: str, kind: Kind, flood: Flood, source: str) -> None:
        while True:
            self.counts[f"{name}_opened"] += 1
            try:
                await kind(flood, source)
            except (OSError, asyncio.IncompleteReadError):
                self.counts[f"{name}_cut"] += 1
            await asyncio.sleep(_AGAIN)

    async def _silent(self, flood: Flood, source: str) -> None:
        async with _connected(flood, source, tls=False) as (reader, _):
            await reader.readexactly(1)

    async def _idle(self, flood: Flood, source: str) -> None:
        async with _connected(flood, source, tls=flood.tls) as (reader, writer):
            writer.write(b"POST /admis")
            await writer.drain()
            await reader.readexactly(1 << 16)

    async def _slow(self, flood: Flood, source: str) -> None:
        async with _connected(flood, source, tls=flood.tls) as (reader, writer):
            writer.write(_head(_BODY))
            for _ in range(_BODY // _PIECE - 1):
                writer.write(b" " * _PIECE)
                await writer.drain()
                await asyncio.sleep(_BETWEEN)
            writer.write(b" " * (_PIECE - 1))
            await writer.drain()
            await reader.readexactly(1 << 16)

    async def _paste(self, flood: Flood, source: str) -> None:
        async with _connected(flood, source, tls=flood.tls) as (_, writer):
            writer.write(_head(len(_PASTE), "/api/changes") + _PASTE)
            await writer.drain()
            await asyncio.sleep(_AGAIN / 2)

    async def _review(self, flood: Flood, source: str) -> None:
        async with _connected(flood, source, tls=flood.tls) as (reader, writer):
            writer.write(_head(len(_REVIEW)) + _REVIEW)
            await writer.drain()
            await reader.read(1 << 16)


def _head(length: int, path: str = "/admission?timeout=1ns") -> bytes:
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    )
    return "\r\n".join((*lines, "", "")).encode()


@contextlib.asynccontextmanager
async def _connected(
    flood: Flood, source: str, *, tls: bool
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Return a connection from an address, without verification of the server's certificate."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1",
        flood.port,
        ssl=_any_certificate() if tls else None,
        local_addr=(source, 0),
        ssl_handshake_timeout=_NEVER if tls else None,
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


@functools.cache
def _any_certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
