"""TLS of the webhook: the server's certificate, and the accepted clients. Both may change at any time.

Without certificate files the bridge has its own authority, only for the webhook.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from bridge.files import read_file

log = structlog.get_logger(__name__)

LOOK = 2.0  # seconds between two checks of the certificates' source


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class _Found:
    """The inputs of a TLS context: `authority` is that of clients, as PEM, empty if they need no certificate."""

    pair: Pair
    authority: bytes


Read = Callable[[], Awaitable[Pair | None]]


class CertificateError(Exception):
    """Certificates or a key that cannot be used; the text has the reason and their source."""


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
    """Keeps `context` on the newest certificate from `read`, and on the newest authority of `clients`.

    Open connections keep their context. `read` returns None while there is no certificate. `origin` names the source in
    messages.
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
        """Return the context of the next connection. Only after `first` has returned."""
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

    async def first(self) -> None:
        """Wait for the first certificate. Raises CertificateError if it, or the authority, cannot be used."""
        logged = False
        while (found := await self._look()) is None:
            if not logged:
                log.info("waiting for webhook certificate", origin=self._origin)
                logged = True
            await asyncio.sleep(LOOK / 4)
        self._take(found)

    async def follow(self) -> None:
        """Load changes, until cancelled. An invalid certificate is logged, and the last one stays."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                found = await self._look()
                if found is None or found in (self._taken, self._refused):
                    continue
                self._take(found)
                log.info("webhook certificate reloaded", origin=self._origin)
            except CertificateError as error:
                log.warning("webhook certificate reload failed", why=str(error))

    async def _look(self) -> _Found | None:
        pair = await self._read()
        return None if pair is None else _Found(pair, self._authority())

    def _authority(self) -> bytes:
        if self._clients.authority is None:
            return b""
        try:
            return read_file(self._clients.authority)
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
                raise CertificateError(f"{self._origin}: no matching certificate and key: {error}") from error
        if self._clients.authority is not None:
            try:
                context.load_verify_locations(cadata=found.authority.decode("ascii"))
            except (ssl.SSLError, ValueError) as error:
                raise CertificateError(f"{self._clients.authority}: no certificates in PEM: {error}") from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def read_files(certificate: Path, key: Path) -> Read:
    """Return a function that reads the two files each time."""

    async def read() -> Pair | None:
        try:
            return Pair(read_file(certificate), read_file(key))
        except OSError as error:
            raise CertificateError(f"{error.filename}: {error.strerror}") from error

    return read


AUTHORITY_DAYS = 3650
SERVER_DAYS = 365
RENEWED_WITH = 1 / 3  # a server's certificate is renewed when this share of its life is left
_EARLIER = dt.timedelta(hours=1)  # for late clocks


def new_authority(now: dt.datetime) -> Pair:
    """Return a self-signed certificate authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "policy-bridge webhook authority")])
    built = (
        _builder(name, name, key.public_key(), now, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _pair(built.sign(key, hashes.SHA256()), key)


def new_server(authority: Pair, names: Iterable[str], now: dt.datetime) -> Pair:
    """Return a server's certificate for these DNS names and addresses, signed by the authority.

    Raises ValueError for an authority that is not the bridge's.
    """
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signer_key = serialization.load_pem_private_key(authority.key, None)
    if not isinstance(signer_key, ec.EllipticCurvePrivateKey):
        raise ValueError("the bridge did not create the key of the authority")  # noqa: TRY004 - it comes from a Secret
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "policy-bridge webhook")])
    built = (
        _builder(name, signer.subject, key.public_key(), now, SERVER_DAYS)
        .add_extension(x509.SubjectAlternativeName([_general_name(one) for one in sorted(set(names))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    return _pair(built.sign(signer_key, hashes.SHA256()), key)


def serves(certificate: bytes, names: Iterable[str], now: dt.datetime) -> bool:
    """Return whether a server's certificate is for all these names, and not due for renewal."""
    try:
        read = x509.load_pem_x509_certificate(certificate)
        found = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    life = read.not_valid_after_utc - read.not_valid_before_utc
    due = read.not_valid_after_utc - life * RENEWED_WITH
    return set(found) >= {_general_name(name) for name in names} and now < due


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: dt.datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + dt.timedelta(days=days))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )
