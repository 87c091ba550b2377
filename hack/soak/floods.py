"""Floods of connections to a port: silent ones, silent TLS, unfinished requests, and abandoned pastes.

Each kind uses its own loopback address, so that a server can distinguish the attackers from the API server.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import Counter
from dataclasses import dataclass, field

_AGAIN = 2.0  # seconds until a connection that the server closed, or refused, is opened again
_PIECE = 1 << 18
_BETWEEN = 0.05  # seconds between two pieces: many such requests together must not be a test of bandwidth
_NEVER = 3600.0


def _request(body: bytes, path: str = "/admission?timeout=1ns") -> bytes:
    head = (f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json")
    return "\r\n".join((*head, f"Content-Length: {len(body)}", "", "")).encode() + body


_CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "invented", "namespace": "quiet"}}
_REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "u",
        "operation": "CREATE",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "invented",
        "namespace": "quiet",
        "object": _CONFIG_MAP,
    },
}


@dataclass(frozen=True, slots=True)
class Flood:
    """Connections of one kind: what each sends, and how many are open at a time to a port.

    `tls`: it uses TLS, if the port does. `stays`: seconds until the client leaves, if the server does not answer.
    """

    name: str
    data: bytes
    tls: bool = True
    stays: float = _NEVER


SILENT = Flood("silent", b"", tls=False)
IDLE = Flood("idle", b"POST /admis")
SLOW = Flood("slow", _request(b" " * (8 << 20))[:-1])  # the last byte is missing
PASTE = Flood("paste", _request(b"- []\n" * 800_000, "/api/changes"), stays=_AGAIN / 2)  # takes long to read
REVIEW = Flood("review", _request(json.dumps(_REVIEW).encode()))  # by a client that is not the API server


@dataclass
class Floods:
    """Keep floods running to ports; `counts` has the number of opened, and of closed or refused connections."""

    counts: Counter[str] = field(default_factory=Counter)

    async def run(self, port: int, floods: dict[Flood, int], network: int, *, tls: bool) -> None:
        """Keep these numbers of connections open until cancelled, from addresses in 127.0.`network`."""
        context = _any_certificate() if tls else None
        async with asyncio.TaskGroup() as tasks:
            for place, (flood, count) in enumerate(floods.items()):
                source = f"127.0.{network}.{place + 2}"
                for _ in range(count):
                    tasks.create_task(self._again(flood, port, source, context if flood.tls else None))
                await asyncio.sleep(1)

    async def _again(self, flood: Flood, port: int, source: str, context: ssl.SSLContext | None) -> None:
        while True:
            self.counts[f"{flood.name}_opened"] += 1
            try:
                await _connect(flood, port, source, context)
            except OSError:
                self.counts[f"{flood.name}_cut"] += 1
            await asyncio.sleep(_AGAIN)


async def _connect(flood: Flood, port: int, source: str, context: ssl.SSLContext | None) -> None:
    """Send the data, in pieces if it is long, and wait for an answer or the end of the connection."""
    handshake = _NEVER if context else None
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, local_addr=(source, 0), ssl_handshake_timeout=handshake
    )
    try:
        for start in range(0, len(flood.data), _PIECE):
            writer.write(flood.data[start : start + _PIECE])
            await writer.drain()
            await asyncio.sleep(_BETWEEN)
        async with asyncio.timeout(flood.stays):
            await reader.read(1 << 16)
    finally:
        writer.transport.abort()


def _any_certificate() -> ssl.SSLContext:
    """Return a client's context that does not verify the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
