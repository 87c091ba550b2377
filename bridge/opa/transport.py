"""The way of a request to OPA: what every transport is, and the one by the standard library alone, for a command.

Importing aiohttp takes longer than a small command's other work in Python; `bridge.opa.pool` is the transport with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
from collections.abc import Mapping
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from bridge.opa.address import Address
from bridge.opa.errors import OpaDisconnected, OpaUnavailable


class Response(NamedTuple):
    """OPA's response; `retry_after` is that header, "" without it."""

    status: int
    body: bytes
    retry_after: str


class Transport(Protocol):
    """Sends requests to one OPA."""

    async def exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Response:
        """Send one request; raises OpaUnavailable without a response. A cancelled one ends the query in OPA."""

    async def close(self) -> None:
        """Close all connections."""


class Threads:
    """A transport for plain HTTP over TCP: each request in progress has a thread and a connection of its own."""

    def __init__(self, address: Address) -> None:
        parts = urlsplit(address.base)
        self._url, self._host, self._port, self._prefix = address.url, parts.hostname or "", parts.port, parts.path
        self._idle: list[_Connection] = []

    async def exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Response:
        """Send one request."""
        connection = self._idle.pop() if self._idle else _Connection(self._host, self._port)
        try:
            response = await asyncio.to_thread(connection.exchange, method, self._prefix + path, body, headers)
        except ConnectionRefusedError as error:
            raise OpaUnavailable(f"OPA at {self._url} cannot be reached: connection refused") from error
        except (OSError, http.client.HTTPException) as error:
            await self.close()  # OPA has ended, or closed other connections with this one
            raise OpaDisconnected(f"OPA at {self._url} cannot be reached: {error}") from error
        except asyncio.CancelledError:
            connection.give_up()
            raise
        self._idle.append(connection)
        return response

    async def close(self) -> None:
        """Close all connections that wait for a request."""
        while self._idle:
            self._idle.pop().close()


class _Connection(http.client.HTTPConnection):
    """A connection that can be given up while a thread uses it: what it waits for ends at once."""

    auto_open = 0  # one that was given up must not be opened again
    _given_up = False

    def exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Response:
        """Send a request; after a failure the connection is closed."""
        try:
            self._open()
            self.request(method, path, body, dict(headers))
            response = self.getresponse()
            return Response(response.status, response.read(), response.getheader("Retry-After", ""))
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        if self.sock is None and not self._given_up:
            self.connect()
        if self._given_up:  # looked at after there is a socket, which `give_up` looks at after it has set this
            raise ConnectionAbortedError

    def give_up(self) -> None:
        """Let the request in progress fail, or one that is about to begin."""
        self._given_up = True
        used = self.sock
        if used is not None:
            with contextlib.suppress(OSError):
                used.shutdown(socket.SHUT_RDWR)
