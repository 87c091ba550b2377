"""A certificate for 127.0.0.1, for servers of measurements."""

from __future__ import annotations

import datetime as dt
import ssl
from pathlib import Path

from bridge.admission.certificates import new_authority, new_server


def write_certificate(folder: Path) -> ssl.SSLContext:
    """Write `tls.crt`, `tls.key` and `ca.crt` into a folder, and return a client's context that trusts them."""
    now = dt.datetime.now(dt.UTC)
    authority = new_authority(now)
    pair = new_server(authority, ["127.0.0.1"], now)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    (folder / "ca.crt").write_bytes(authority.certificate)
    return ssl.create_default_context(cadata=authority.certificate.decode())
