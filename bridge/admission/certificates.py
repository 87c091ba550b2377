"""TLS of the webhook: the server's certificate, and the accepted clients. The files of both may change at any time."""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from bridge.files import read_file
from bridge.work import FILES

log = structlog.get_logger(__name__)


class CertificateError(Exception):
    """Certificates or a key that cannot be used; the text has the reason and their file."""


@dataclass(frozen=True, slots=True)
class Clients:
    """The accepted clients: those with a certificate of `authority` and one of these common names.

    `authority` is a PEM file; without one every client is accepted. Without names every certificate of the authority
    is.
    """

    authority: Path | None = None
    names: tuple[str, ...] = ()


ANY_CLIENT = Clients()


class Certificates:
    """Keeps `context` on the newest content of the files: certificate and key as PEM, and the authority of `clients`.

    Open connections keep their context.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        clients: Clients = ANY_CLIENT,
        minimum_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    ) -> None:
        self._certificate = certificate
        self._key = key
        self._clients = clients
        self._minimum_version = minimum_version
        self._context: ssl.SSLContext | None = None
        self._seen: list[bytes] = []  # the files' content at the last attempt to load them

    @property
    def context(self) -> ssl.SSLContext:
        """Return the context of the next connection. Only after `load` has returned."""
        if self._context is None:
            raise RuntimeError("there is no certificate yet")
        return self._context

    def refusal(self, certificate: Mapping[str, Any] | None) -> str:
        """Return why a client with this verified certificate is rejected; empty if it is accepted."""
        if self._clients.authority is None or not self._clients.names:
            return ""
        subject = (certificate or {}).get("subject", ())
        found = [value for part in subject for name, value in part if name == "commonName"]
        if set(found) & set(self._clients.names):
            return ""
        expected = " or ".join(map(repr, self._clients.names))
        return f"the common name is {', '.join(map(repr, found)) or 'missing'}, and {expected} is expected"

    def load(self) -> bool:
        """Load the files; return whether they changed since the last attempt.

        Raises CertificateError if they cannot be used: the previous context stays.
        """
        files = [file for file in (self._certificate, self._key, self._clients.authority) if file]
        try:
            found = [read_file(file) for file in files]
        except OSError as error:
            raise CertificateError(f"{error.filename}: {error.strerror}") from error
        if found == self._seen:
            return False
        self._seen = found
        self._context = self._make()
        return True

    async def follow(self) -> None:
        """Load changes, until cancelled. An invalid certificate is logged, and the last one stays."""
        while True:
            await asyncio.sleep(FILES)
            try:
                if self.load():
                    log.info("certificate reloaded", file=str(self._certificate))
            except CertificateError as error:
                log.warning("certificate reload failed", why=str(error))

    def _make(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._minimum_version
        try:
            context.load_cert_chain(self._certificate, self._key, lambda: "")
        except (OSError, ValueError) as error:
            raise CertificateError(f"{self._certificate}: no matching certificate and key: {error}") from error
        if self._clients.authority is not None:
            try:
                context.load_verify_locations(self._clients.authority)
            except (OSError, ValueError) as error:
                raise CertificateError(f"{self._clients.authority}: no certificates in PEM: {error}") from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The files of a certificate and its key, and the authority as PEM, empty if the bridge did not create it."""

    certificate: Path
    key: Path
    authority: bytes = b""


def create_certificate(names: Iterable[str], folder: Path) -> CertificateFiles:
    """Create a certificate for these DNS names and addresses in `folder`, for a bridge that is started by hand."""
    import trustme

    authority = trustme.CA(organization_name="policy-bridge", organization_unit_name="webhook of one run")
    server = authority.issue_cert(*names)
    certificate, key = folder / "tls.crt", folder / "tls.key"
    key.touch(mode=0o600)
    server.cert_chain_pems[0].write_to_path(certificate)
    server.private_key_pem.write_to_path(key)
    return CertificateFiles(certificate, key, authority.cert_pem.bytes())
