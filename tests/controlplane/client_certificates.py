"""Certificates of clients, as an administrator signs them for an API server."""

from __future__ import annotations

import datetime as dt

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bridge.admission.certificates import Pair


def new_client(authority: Pair, name: str) -> Pair:
    """A client's certificate for a common name, signed by an authority."""
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signer_key = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(signer_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(signer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(signer_key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return Pair(built.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
