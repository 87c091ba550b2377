"""What one listener puts up with: so many connections, and none that never says what it wants.

aiohttp has limits for the size of a request's head and body, but none for how long a head may take, and none for how
many connections there are.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

from aiohttp import web

MOST_CONNECTIONS = 2000  # twice as many as the streams of the page: OPA and probes must get through beside them
LONGEST_HEAD = 10.0  # seconds from the connection to the end of its first request's head; and for a TLS handshake
LONGEST_IDLE = 120.0  # seconds of silence between two requests; an API server gives a connection up after 90
_END_OF_HEAD = b"\r\n\r\n"


class Gate:
    """Makes protocols of `server` for connections, of which there are at most `most`; others are closed at once."""

    def __init__(self, server: Callable[[], asyncio.Protocol], most: int = MOST_CONNECTIONS) -> None:
        self._server = server
        self._most = most
        self.open = 0

    def __call__(self) -> asyncio.Protocol:
        """What the event loop calls for each connection."""
        return _Connection(self, self._server())

    @property
    def full(self) -> bool:
        """Whether there are as many as there may be."""
        return self.open >= self._most


class GatedSite(web.BaseSite):
    """Listens on a host and port through a Gate, with `::` on all addresses. Of `runner`, which is set up."""

    def __init__(
        self, runner: web.AppRunner, host: str, port: int, context: ssl.SSLContext | None, most: int = MOST_CONNECTIONS
    ) -> None:
        super().__init__(runner, ssl_context=context)
        self._host = host
        self._port = port
        self._most = most

    @property
    def name(self) -> str:
        """The address, for messages."""
        return f"{'https' if self._ssl_context else 'http'}://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen. Raises OSError."""
        await super().start()
        server = self._runner.server
        if server is None:
            raise RuntimeError("the runner is not set up")
        where = {"sock": _everywhere(self._port)} if self._host == "::" else {"host": self._host, "port": self._port}
        self._server = await asyncio.get_running_loop().create_server(
            Gate(server, self._most),
            **where,
            ssl=self._ssl_context,
            ssl_handshake_timeout=LONGEST_HEAD if self._ssl_context else None,
        )


def _everywhere(port: int) -> socket.socket:
    """What listens on all addresses, of IPv4 and of IPv6: asyncio's own `::` leaves the first out. Raises OSError."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("0.0.0.0", port))  # noqa: S104 - a machine without IPv6


class _Connection(asyncio.Protocol):
    """Passes everything on to aiohttp's protocol, once the gate lets it in."""

    def __init__(self, gate: Gate, protocol: asyncio.Protocol) -> None:
        self._gate = gate
        self._protocol = protocol
        self._let_in = False
        self._patience: asyncio.TimerHandle | None = None
        self._begun = False
        self._tail = b""  # of what has come of the first head

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._gate.full:
            transport.close()
            return
        self._gate.open += 1
        self._let_in = True
        abort = transport.abort if isinstance(transport, asyncio.Transport) else transport.close
        self._patience = asyncio.get_running_loop().call_later(LONGEST_HEAD, abort)
        self._protocol.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if not self._let_in:
            return
        if self._patience is not None:
            seen = self._tail + data
            if not self._begun:  # empty lines before a head are none
                seen = seen.lstrip(b"\r\n")
                self._begun = bool(seen)
            if _END_OF_HEAD in seen:
                self._patience.cancel()
                self._patience, self._tail = None, b""
            else:
                self._tail = seen[-(len(_END_OF_HEAD) - 1) :]
        self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received() if self._let_in else None

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        if self._let_in:
            self._gate.open -= 1
            self._protocol.connection_lost(exc)
