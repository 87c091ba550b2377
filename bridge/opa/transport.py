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
        self._idle: list[http.client.HTTPConnection] = []

    async def exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Response:
        """Send one request."""
        connection = self._idle.pop() if self._idle else http.client.HTTPConnection(self._host, self._port)
        try:
            response = await asyncio.to_thread(_exchange, connection, method, self._prefix + path, body, headers)
        except ConnectionRefusedError as error:
            raise OpaUnavailable(f"OPA at {self._url} cannot be reached: connection refused") from error
        except (OSError, http.client.HTTPException) as error:
            _end(connection)
            raise OpaDisconnected(f"OPA at {self._url} cannot be reached: {error}") from error
        except asyncio.CancelledError:
            _end(connection)
            raise
        self._idle.append(connection)
        return response

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._idle:
            connection.close()


def _exchange(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
) -> Response:
    connection.request(method, path, body, dict(headers))
    response = connection.getresponse()
    return Response(response.status, response.read(), response.getheader("Retry-After", ""))


def _end(connection: http.client.HTTPConnection) -> None:
    """Close a connection that a thread may still use: what it waits for ends at once."""
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()
