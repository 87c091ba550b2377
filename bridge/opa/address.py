"""Where an OPA is, and how it is trusted: http, https with files of certificates, or a Unix socket."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import structlog

from bridge.opa.errors import OpaError

log = structlog.get_logger(__name__)

_LOOK_AGAIN = 60.0  # seconds between two looks at files of certificates that may have been renewed
_LONGEST_SOCKET = 103  # bytes of a socket's path: what the systems that we know take


@dataclass(frozen=True, slots=True)
class Address:
    """An OPA's URL in parts: `base` is what requests begin with, `socket` the path of a Unix socket, "" for TCP."""

    url: str
    base: str
    socket: str = ""

    @property
    def secure(self) -> bool:
        """Whether TLS is spoken there."""
        return self.base.startswith("https:")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files (PEM) for TLS to an OPA: the authorities in place of the system's, and our own certificate with its key.

    There is no way to leave the verification out.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None


def read_address(url: str) -> Address:
    """An OPA's address: `http(s)://HOST:PORT`, a path allowed, or `unix:///PATH`. Raises OpaError for anything else."""
    if url.startswith("unix:"):
        path = url.removeprefix("unix://")
        if not path.startswith("/") or len(path) < 2:
            raise OpaError(f"{url!r} is no URL of a Unix socket: write unix:///run/opa.sock, with a whole path")
        if len(path.encode()) > _LONGEST_SOCKET:
            raise OpaError(f"{url!r}: the path of a Unix socket has at most {_LONGEST_SOCKET} bytes")
        return Address(url, "http://localhost", path)
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise OpaError(f"{url!r} is no URL of an OPA: write http://HOST:PORT, https://HOST:PORT or unix:///PATH")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port or (443 if parts.scheme == "https" else 80)
    base = f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}"
    return Address(base, base)


class Trust:
    """A TLS context from files, which are read again when they have changed: new connections go by them.

    Raises OpaError where a file cannot be used.
    """

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._seen = self._stamps()
        self._next_look = time.monotonic() + _LOOK_AGAIN
        if files.key_file and not files.cert_file:
            raise OpaError("a key for TLS to OPA is of no use without its certificate: give both")
        self.context = self._made()

    def look(self) -> None:
        """Take up files that have changed, at most once a minute; those that cannot be used leave it as it is."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_AGAIN
        stamps = self._stamps()
        if stamps == self._seen:
            return
        self._seen = stamps
        try:
            # Another one: to this one a new authority would only be added, beside one of the same name that has gone.
            self.context = self._made()
        except OpaError as error:
            log.warning("new certificates are not taken up, the ones before stay", why=str(error))

    def _made(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self._files.ca_file:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies all, knows no authority yet
        self._fill(context)
        return context

    def _fill(self, context: ssl.SSLContext) -> None:
        file = ""
        try:
            if self._files.ca_file:
                file = self._files.ca_file
                context.load_verify_locations(file)
            if self._files.cert_file:
                file = self._files.cert_file
                context.load_cert_chain(file, self._files.key_file)
        except OSError as error:  # ssl.SSLError is one
            reason = error.strerror or str(error)
            raise OpaError(f"TLS to OPA: {file} cannot be used: {reason}") from error

    def _stamps(self) -> tuple[int, ...]:
        files = (self._files.ca_file, self._files.cert_file, self._files.key_file)
        return tuple(Path(file).stat().st_mtime_ns if file and Path(file).exists() else 0 for file in files)


def connector(address: Address, at_once: int) -> aiohttp.BaseConnector:
    """What opens connections to an OPA, and lets so many requests through at once; TLS goes with each request."""
    if address.socket:
        return aiohttp.UnixConnector(address.socket, limit=at_once)
    return aiohttp.TCPConnector(limit=at_once)
