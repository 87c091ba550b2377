"""The server's certificate, taken up anew while connections go on.

An `ssl.SSLContext` takes another certificate at any time: connections that stand keep theirs, new ones get the new.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

LOOK = 2.0  # seconds between two looks at where certificates come from


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes


Read = Callable[[], Awaitable[Pair | None]]


class CertificateError(Exception):
    """A certificate and key that cannot be used; the text says why, and where they come from."""


class Certificates:
    """Keeps `context` on the newest certificate that `read` gives.

    `read` gives None while there is none. `origin` says in messages where they come from.
    """

    def __init__(self, read: Read, origin: str) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._read = read
        self._origin = origin
        self._taken: Pair | None = None
        self._refused: Pair | None = None

    async def first(self) -> None:
        """Wait for the first certificate. Raises CertificateError when it cannot be used."""
        told = False
        while (found := await self._read()) is None:
            if not told:
                log.info("the webhook waits for its certificate", origin=self._origin)
                told = True
            await asyncio.sleep(LOOK / 4)
        self._take(found)

    async def follow(self) -> None:
        """Take up another certificate when there is one, until cancelled. A bad one is told, and the last one stays."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                found = await self._read()
                if found is None or found in (self._taken, self._refused):
                    continue
                self._take(found)
                log.info("the webhook has another certificate", origin=self._origin)
            except CertificateError as error:
                log.warning("the webhook's new certificate cannot be used, the last one stays", why=str(error))

    def _take(self, found: Pair) -> None:
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder, "certificate"), Path(folder, "key")
            certificate.write_bytes(found.certificate)
            key.touch(mode=0o600)
            key.write_bytes(found.key)
            try:
                # A context that refuses a pair has half of it: another one tries it first.
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")
                self.context.load_cert_chain(certificate, key, lambda: "")
            except (ssl.SSLError, ValueError) as error:
                self._refused = found
                raise CertificateError(f"{self._origin}: no certificate and key that fit: {error}") from error
        self._taken = found


def read_files(certificate: Path, key: Path) -> Read:
    """Read from two files, as often as asked."""

    async def read() -> Pair | None:
        try:
            return Pair(certificate.read_bytes(), key.read_bytes())
        except OSError as error:
            raise CertificateError(f"{error.filename}: {error.strerror}") from error

    return read
