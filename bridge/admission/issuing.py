"""Certificates of our own: an authority for the webhook alone, and what it signs for the server."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from bridge.admission.certificates import Pair

AUTHORITY_DAYS = 3650
SERVER_DAYS = 365
RENEWED_WITH = 1 / 3  # of its life left, a server's certificate is made anew
_EARLIER = dt.timedelta(hours=1)  # for clocks that are late


def new_authority(now: dt.datetime) -> Pair:
    """A certificate authority that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "policy-bridge webhook authority")])
    built = (
        _builder(name, name, key.public_key(), now, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _pair(built.sign(key, hashes.SHA256()), key)


def new_server(authority: Pair, names: Iterable[str], now: dt.datetime) -> Pair:
    """A server's certificate for these DNS names and addresses, signed by the authority.

    Raises ValueError for an authority that is none of ours.
    """
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signer_key = serialization.load_pem_private_key(authority.key, None)
    if not isinstance(signer_key, ec.EllipticCurvePrivateKey):
        raise ValueError("the authority's key is not one that we have made")  # noqa: TRY004 - it comes from a Secret
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
    """Whether a server's certificate is for all these names, and not due to be made anew."""
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
