"""Hosts and URLs of servers: which are on this machine, and which may get secrets."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_safe(url: str) -> bool:
    """Return whether credentials may be sent to a URL: over TLS, or to this machine."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    )


def is_loopback(host: str) -> bool:
    """Return whether a host, in the form of an address or URL, is a loopback one."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
