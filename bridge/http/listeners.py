"""Listening addresses. Each connection of a listener passes its gate first, and then its TLS handshake.

Messages of aiohttp's server are written to the bridge's log.
"""

import asyncio
import contextlib
import errno
import functools
import logging
import os
import socket
import ssl
import time
import traceback
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web
from aiohttp.http import HttpProcessingError

from bridge.admission.certificates import CertificateError, Certificates
from bridge.files import read_text
from bridge.http.connections import LONGEST_HEAD, LONGEST_IDLE, Connection, Connections
from bridge.http.gate import Limits
from bridge.opa.credentials import TokenError, checked_token
from bridge.settings.model import split_address

log = structlog.get_logger(__name__)

BACKLOG = 128  # connections in the operating system's queue
AT_ONCE = 16  # connections that are accepted before replaced ones are closed
SEND_BUFFER = 1 << 17  # bytes of a connection's responses in the operating system
LOG_PERIOD = 10.0  # seconds between two lines of the log about one kind of client error
_CLOSING = 1.0  # seconds for the end of a TLS connection
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_CERTIFICATE_ERRORS = {"PEER_DID_NOT_RETURN_A_CERTIFICATE", "CERTIFICATE_VERIFY_FAILED"}


class Acceptor:
    """Accepts connections of `sockets`, each through the gate, and serves each with a protocol from `make`."""

    def __init__(
        self, sockets: list[socket.socket], connections: Connections, make: Any, tls: Certificates | None
    ) -> None:
        self.sockets = sockets
        self._connections = connections
        self._gate = connections.gate
        self._make = make
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        self._limit = _LogLimit()

    def start(self) -> None:
        """Accept connections from now on."""
        for sock in self.sockets:
            self._loop.add_reader(sock, self._accept, sock)

    def close(self) -> None:
        """Accept no more, and end handshakes; established connections stay."""
        for sock in self.sockets:
            self._loop.remove_reader(sock)
            sock.close()
        self.sockets = []
        for task in self._handshakes:
            task.cancel()

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(AT_ONCE):
            try:
                sock, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._pause(listening, error)
                return
            connection = self._connections.admit(address[0])
            if connection is None:
                if self._limit.passes("full"):
                    log.warning("connection closed, too many open connections", peer=address[0], open=self._gate.open)
                sock.close()
                continue
            sock.setblocking(False)
            task = self._loop.create_task(self._establish(connection, sock))
            connection.make, connection.verify = self._make, self._verify
            connection.place.abort = task.cancel
            self._handshakes.add(task)
            task.add_done_callback(functools.partial(self._end_handshake, connection, sock))

    def _end_handshake(self, connection: Connection, sock: socket.socket, task: asyncio.Task[None]) -> None:
        self._handshakes.discard(task)
        if connection.protocol is None:
            self._gate.leave(connection.place)
            sock.close()

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        if self._limit.passes("exhausted"):
            log.warning("accepting connections paused", why=str(error))
        self._loop.remove_reader(listening)
        self._loop.call_later(1.0, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        if listening in self.sockets:
            self._loop.add_reader(listening, self._accept, listening)

    async def _establish(self, connection: Connection, sock: socket.socket) -> None:
        limits: dict[str, float] = {}
        if self._tls:
            limits = {"ssl_handshake_timeout": LONGEST_HEAD, "ssl_shutdown_timeout": _CLOSING}
        try:
            context = self._tls.context if self._tls else None
            await self._loop.connect_accepted_socket(lambda: connection, sock, ssl=context, **limits)
        except OSError as error:  # includes ssl.SSLError, ConnectionError and TimeoutError
            self._report(connection.place.peer, error)
            # The future that asyncio waits with has the error, whose frames reference the future and TLS buffers.
            traceback.clear_frames(error.__traceback__)

    def _report(self, peer: str, error: OSError) -> None:
        if isinstance(error, ssl.SSLError) and error.reason in _CERTIFICATE_ERRORS:
            self._gate.closed["certificate"] += 1
            why = getattr(error, "verify_message", "") or "the client sent no certificate"
            self._log_refused(peer, why)
        elif not isinstance(error, ConnectionError):
            self._gate.closed["handshake"] += 1
            why = getattr(error, "reason", None) or str(error) or "timeout"
            if self._limit.passes("handshake"):
                log.info("TLS handshake failed", peer=peer, why=why)

    def _log_refused(self, peer: str, why: str) -> None:
        if self._limit.passes("certificate"):
            log.warning("client certificate refused", peer=peer, why=why)

    def _verify(self, transport: asyncio.BaseTransport) -> bool | None:
        certificate = transport.get_extra_info("peercert")
        why = self._tls.refusal(certificate) if self._tls else ""
        if not why:
            return bool(certificate)
        self._gate.closed["certificate"] += 1
        self._log_refused(transport.get_extra_info("peername")[0], why)
        return None


class _LogLimit:
    """Passes one log line about each kind of client error in LOG_PERIOD seconds. Metrics count all of them."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}

    def passes(self, what: str) -> bool:
        now = time.monotonic()
        if now < self._next.get(what, 0.0):
            return False
        self._next[what] = now + LOG_PERIOD
        return True


async def _open_sockets(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets on the addresses of a host. Raises OSError."""
    if host == "::":
        return [_prepare_socket(_open_everywhere(port))]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return [
        _prepare_socket(socket.create_server(address[:2], family=family, backlog=BACKLOG))
        for family, address in dict.fromkeys((family, address) for family, _, _, _, address in found)
    ]


def _prepare_socket(sock: socket.socket) -> socket.socket:
    sock.setblocking(False)
    # Its connections have the same: the system would give one that reads slowly megabytes, and hide its progress.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    return sock


def _open_everywhere(port: int) -> socket.socket:
    """Return listening sockets on all addresses, of IPv4 and of IPv6: asyncio's own `::` omits IPv4. Raises OSError."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=BACKLOG)
    return socket.create_server(("0.0.0.0", port), backlog=BACKLOG)  # noqa: S104 - a machine without IPv6


class _ToOurLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError | web.RequestPayloadError):
            log.debug("malformed HTTP request", why=" ".join(str(error).split())[:200])
        elif isinstance(error, ConnectionError):
            log.debug("client disconnected", why=str(error))
        elif error is not None:
            log.error("request failed unexpectedly", message=record.getMessage(), exc_info=error)
        else:
            log.warning(record.getMessage())


def server_logger() -> logging.Logger:
    """Return the logger for an aiohttp server: without it, invalid requests fill the log with tracebacks."""
    logger = logging.getLogger("bridge.http")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(_ToOurLog())
    return logger


WEB_TOKEN_LENGTH = 32  # characters at least
_LEAST_DISTINCT = 10  # different characters: 32 random ones of any usual alphabet have more
_USUAL = Limits()
CONNECTIONS = web.AppKey("connections", Connections)  # of a served application: those of its listener


class ServeError(Exception):
    """Why the bridge cannot start, in one line with the fix."""


@contextlib.asynccontextmanager
async def serving(
    app: web.Application,
    address: str,
    option: str,
    tls: Certificates | None = None,
    *,
    limits: Limits = _USUAL,
    shutdown_timeout: float = 1.0,
) -> AsyncIterator[str]:
    """Serve an application on `HOST:PORT` (port 0: a free one) within the block; yield the URL.

    `option` is the flag for another address, for messages. Requests have `shutdown_timeout` seconds at the end. Raises
    ServeError, also for certificate files that cannot be used.
    """
    host, port = split_address(address)
    connections = app[CONNECTIONS] = Connections(limits)
    app.middlewares.insert(0, connections.follow)
    runner = web.AppRunner(
        app, access_log=None, logger=server_logger(), keepalive_timeout=LONGEST_IDLE, shutdown_timeout=shutdown_timeout
    )
    await runner.setup()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(runner.cleanup)
        try:
            if tls:
                tls.load()
            acceptor = Acceptor(await _open_sockets(host, port), connections, runner.server, tls)
        except CertificateError as error:
            raise ServeError(f"cannot serve at {option}: {error}") from error
        except OSError as error:
            # A name that cannot be resolved has a negative error number.
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            raise ServeError(f"cannot listen on {address}: {reason}; give another {option} HOST:PORT") from error
        stack.callback(acceptor.close)
        acceptor.start()
        shown = f"[{host}]" if ":" in host else host
        yield f"{'https' if tls else 'http'}://{shown}:{acceptor.sockets[0].getsockname()[1]}"


def checked_web_token(text: str) -> str:
    """Return the token of the page. Raises TokenError for one that may be guessed."""
    token = checked_token(text, WEB_TOKEN_LENGTH)
    if len(set(token)) < _LEAST_DISTINCT:
        raise TokenError(f"the token has only {len(set(token))} different characters: use a random one")
    return token


def web_token_of(file: str | None) -> Callable[[], str] | None:
    """Return a function that reads the token of the page. Raises ServeError also for a token that may be guessed."""
    read = token_of(file)
    if read is not None:
        try:
            checked_web_token(read())
        except TokenError as error:
            raise ServeError(f"the token file {file}: {error}; `pbctl admin token` prints a suitable one") from error
        except (OSError, UnicodeDecodeError) as error:
            raise ServeError(f"the token file {file} cannot be read: {error}") from error
    return read


def token_of(file: str | None) -> Callable[[], str] | None:
    """Return a function that reads a bearer token from a file, None without one.

    Raises ServeError if it does not exist.
    """
    if file is None:
        return None
    path = Path(file)
    if not path.is_file():
        raise ServeError(f"the token file {file} does not exist")
    # Read again for each request, so a rotated token takes effect.
    return lambda: read_text(path).strip()
