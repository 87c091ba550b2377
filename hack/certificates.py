"""A certificate for 127.0.0.1, for servers of measurements."""

import ssl
from pathlib import Path

import trustme


def write_certificate(folder: Path) -> ssl.SSLContext:
    """Write `tls.crt`, `tls.key` and `ca.crt` into a folder, and return a client's context that trusts them."""
    authority = trustme.CA()
    server = authority.issue_cert("127.0.0.1")
    server.cert_chain_pems[0].write_to_path(folder / "tls.crt")
    server.private_key_pem.write_to_path(folder / "tls.key")
    authority.cert_pem.write_to_path(folder / "ca.crt")
    return ssl.create_default_context(cafile=folder / "ca.crt")
