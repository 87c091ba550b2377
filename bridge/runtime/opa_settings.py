"""What the settings of OPA mean, besides their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.opa.address import read_address
from bridge.opa.errors import OpaError

if TYPE_CHECKING:
    from bridge.runtime.settings import Settings

_OF_ITS_OWN = ("opa_port", "opa_socket", "opa_listen")


def guarded(settings: Settings) -> bool:
    """Whether an OPA that the bridge starts answers to tokens alone."""
    return settings.opa_readers is not None


def check_opa(settings: Settings) -> None:
    """Refuse what no type can say. Raises ValueError."""
    if settings.opa_port is not None and not 0 < settings.opa_port < 65536:
        raise ValueError(f"opa_port {settings.opa_port} is no port: 1 to 65535")
    if settings.opa_port is not None and settings.opa_socket:
        raise ValueError("opa_port and opa_socket exclude each other: OPA listens on one of them for the bridge")
    if bool(settings.opa_cert_file) != bool(settings.opa_key_file):
        raise ValueError("opa_cert_file and opa_key_file go together")
    _check_addresses(settings)
    _check_readers(settings)


def _check_addresses(settings: Settings) -> None:
    for url in (settings.opa_url, f"unix://{settings.opa_socket}" if settings.opa_socket else None):
        try:
            read_address(url or "http://localhost")
        except OpaError as error:
            raise ValueError(str(error)) from error
    if settings.bundle_credentials and not settings.opa_url:
        raise ValueError("bundle_credentials is for the OPA that opa_url names; one that the bridge starts needs none")
    for name in _OF_ITS_OWN if settings.opa_url else ():
        if getattr(settings, name):
            raise ValueError(f"{name} is for the OPA that the bridge starts, and opa_url names another")


def _check_readers(settings: Settings) -> None:
    if settings.opa_listen and settings.opa_readers is None:
        raise ValueError("opa_listen needs opa_readers: without tokens whoever reaches that address could write to OPA")
    if settings.opa_readers is not None and settings.opa_url and not settings.opa_token_file:
        raise ValueError("opa_readers needs opa_token_file: an OPA that asks for tokens asks the bridge too")
