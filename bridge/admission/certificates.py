"""TLS of the webhook: the server's certificate, and the clients that are accepted. Both may change at any time."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

log = structlog.get_logger(__name__)

LOOK = 2.0  # seconds between two looks at where certificates come from


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class _Found:
    """What a context is made of: `authority` is that of clients, as PEM, empty where they need no certificate."""

    pair: Pair
    authority: bytes


Read = Callable[[], Awaitable[Pair | None]]


class CertificateError(Exception):
    """Certificates or a key that cannot be used; the text says why, and where they come from."""


@dataclass(frozen=True, slots=True)
class Clients:
    """Which clients are accepted: those with a certificate of `authority` and one of these common names.

    `authority` is a file of PEM; without one every client is accepted. Without names every certificate of it is.
    """

    authority: Path | None = None
    names: tuple[str, ...] = ()


ANY_CLIENT = Clients()


class Certificates:
    """Keeps `context` on the newest certificate that `read` gives, and on the newest authority of `clients`.

    Connections that are open keep the context that they were made with. `read` gives None while there is no
    certificate. `origin` says in messages where it comes from.
    """

    def __init__(
        self,
        read: Read,
        origin: str,
        clients: Clients = ANY_CLIENT,
        minimum_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    ) -> None:
        self._read = read
        self._origin = origin
        self._clients = clients
        self._minimum_version = minimum_version
        self._context: ssl.SSLContext | None = None
        self._taken: _Found | None = None
        self._refused: _Found | None = None

    @property
    def context(self) -> ssl.SSLContext:
        """What the next connection is made with. Only once `first` has returned."""
        if self._context is None:
            raise RuntimeError("there is no certificate yet")
        return self._context

    def refusal(self, certificate: Mapping[str, Any] | None) -> str:
        """Why a client with this certificate, which the context has verified, is refused; empty: it is accepted."""
        if self._clients.authority is None or not self._clients.names:
            return ""
        subject = (certificate or {}).get("subject", ())
        found = [value for part in subject for name, value in part if name == "commonName"]
        if set(found) & set(self._clients.names):
            return ""
        expected = " or ".join(map(repr, self._clients.names))
        return f"the common name is {', '.join(map(repr, found)) or 'missing'}, and {expected} is expected"

    async def first(self) -> None:
        """Wait for the first certificate. Raises CertificateError when it, or the authority, cannot be used."""
        told = False
        while (found := await self._look()) is None:
            if not told:
                log.info("the webhook waits for its certificate", origin=self._origin)
                told = True
            await asyncio.sleep(LOOK / 4)
        self._take(found)

    async def follow(self) -> None:
        """Take up what changes, until cancelled. What cannot be used is logged, and the last one stays."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                found = await self._look()
                if found is None or found in (self._taken, self._refused):
                    continue
                self._take(found)
                log.info("the webhook has another certificate", origin=self._origin)
            except CertificateError as error:
                log.warning("the webhook's new certificate cannot be used, the last one stays", why=str(error))

    async def _look(self) -> _Found | None:
        pair = await self._read()
        return None if pair is None else _Found(pair, self._authority())

    def _authority(self) -> bytes:
        if self._clients.authority is None:
            return b""
        try:
            return self._clients.authority.read_bytes()
        except OSError as error:
            raise CertificateError(f"{error.filename}: {error.strerror}") from error

    def _take(self, found: _Found) -> None:
        try:
            self._context = self._make(found)
        except CertificateError:
            self._refused = found
            raise
        self._taken = found

    def _make(self, found: _Found) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._minimum_version
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder, "certificate"), Path(folder, "key")
            certificate.write_bytes(found.pair.certificate)
            key.touch(mode=0o600)
            key.write_bytes(found.pair.key)
            try:
                context.load_cert_chain(certificate, key, lambda: "")
            except (ssl.SSLError, ValueError) as error:
                raise CertificateError(f"{self._origin}: no certificate and key that fit: {error}") from error
        if self._clients.authority is not None:
            try:
                context.load_verify_locations(cadata=found.authority.decode("ascii"))
            except (ssl.SSLError, ValueError) as error:
                raise CertificateError(f"{self._clients.authority}: no certificates in PEM: {error}") from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def read_files(certificate: Path, key: Path) -> Read:
    """Read from two files, as often as asked."""

    async def read() -> Pair | None:
        try:
            return Pair(certificate.read_bytes(), key.read_bytes())
        except OSError as error:
            raise CertificateError(f"{error.filename}: {error.strerror}") from error

    return read
