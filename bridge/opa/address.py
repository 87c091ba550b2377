"""The address of an OPA with its TLS trust: http, https, or a Unix socket."""

import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from bridge.opa.errors import OpaError
from bridge.work import CREDENTIALS

log = structlog.get_logger(__name__)

_LONGEST_SOCKET = 103  # bytes of a socket's path: the limit of common systems


@dataclass(frozen=True, slots=True)
class Address:
    """An OPA's URL in parts: `base` is the beginning of requests, `socket` the path of a Unix socket, "" for TCP."""

    url: str
    base: str
    socket: str = ""

    @property
    def secure(self) -> bool:
        """Return whether it uses TLS."""
        return self.base.startswith("https:")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files (PEM) for TLS to an OPA: the authorities instead of the system's, and the client certificate with its key.

    Verification cannot be disabled.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None


def read_address(url: str) -> Address:
    """Parse an OPA's address: `http(s)://HOST:PORT`, with an optional path, or `unix:///PATH`.

    Raises OpaError for anything else.
    """
    if url.startswith("unix:"):
        path = url.removeprefix("unix://")
        if not path.startswith("/") or len(path) < 2:
            raise OpaError(f"{url!r} is not a URL of a Unix socket: write unix:///run/opa.sock")
        if len(path.encode()) > _LONGEST_SOCKET:
            raise OpaError(f"{url!r}: the path of a Unix socket has at most {_LONGEST_SOCKET} bytes")
        return Address(url, "http://localhost", path)
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise OpaError(f"{url!r} is not a URL of OPA: write http://HOST:PORT, https://HOST:PORT or unix:///PATH")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port or (443 if parts.scheme == "https" else 80)
    base = f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}"
    return Address(base, base)


class Trust:
    """A TLS context from files, which are read again when they change, for new connections.

    Raises OpaError if a file cannot be used.
    """

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._seen = self._read_stamps()
        self._next_look = time.monotonic() + CREDENTIALS
        if files.key_file and not files.cert_file:
            raise OpaError("a key for TLS to OPA needs its certificate: set both")
        self.context = self._make_context()

    def look(self) -> None:
        """Load changed files, at most once a minute; invalid files change nothing."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + CREDENTIALS
        stamps = self._read_stamps()
        if stamps == self._seen:
            return
        self._seen = stamps
        try:
            # A new context: this one would only get a new authority in addition to the removed one.
            self.context = self._make_context()
        except OpaError as error:
            log.warning("OPA client certificate reload failed", why=str(error))

    def _make_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self._files.ca_file:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies everything, without an authority yet
            # The file may have OPA's own certificate: that of kube-mgmt's chart comes without its authority.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
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
        except OSError as error:  # includes ssl.SSLError
            reason = error.strerror or str(error)
            raise OpaError(f"TLS to OPA: {file} cannot be used: {reason}") from error

    def _read_stamps(self) -> tuple[int, ...]:
        files = (self._files.ca_file, self._files.cert_file, self._files.key_file)
        return tuple(Path(file).stat().st_mtime_ns if file and Path(file).exists() else 0 for file in files)
