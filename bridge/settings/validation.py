"""Valid settings, beyond their types: values in range, and settings that fit together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from bridge.model.placement import decision_path
from bridge.opa.address import read_address
from bridge.opa.errors import OpaError

if TYPE_CHECKING:
    from bridge.settings.model import Settings

_OF_ITS_OWN = ("opa_port", "opa_socket", "opa_listen")


def guarded(settings: Settings) -> bool:
    """Return whether the bridge's own OPA requires tokens."""
    return settings.opa_readers is not None


def check_opa(settings: Settings) -> None:
    """Reject values that the types cannot exclude. Raises ValueError."""
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


LONGEST_DEADLINE = 30.0  # seconds; the API server's longest timeout for a webhook
_DATA = "/v1/data/"


def decision_of(settings: Settings) -> tuple[str, str]:
    """Return the webhook's placement decision, as (URL of another OPA, path of the document); "" each if there is none.

    Raises ValueError for a setting that is neither a document nor a URL of OPA's data API.
    """
    text = settings.decision if settings.webhook_decision is None else settings.webhook_decision
    if not text:
        return "", ""
    if "://" not in text:
        return "", "/".join(decision_path(text))
    parts = urlsplit(text)
    before, data, path = parts.path.partition(_DATA)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not data or parts.query:
        raise ValueError(f"webhook_decision {text!r} is no URL of a decision: write https://HOST:PORT/v1/data/PATH")
    return f"{parts.scheme}://{parts.netloc}{before}", "/".join(decision_path(path))


def names_of(settings: Settings) -> tuple[str, ...]:
    """Return the API server's names for the webhook, which its certificate must cover."""
    if settings.webhook_url:
        return (urlsplit(settings.webhook_url).hostname or "",)
    namespace, _, name = settings.webhook_service.partition("/")
    return (f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local")


def check_webhook(settings: Settings) -> None:
    """Reject values that the types cannot exclude. Raises ValueError."""
    decision_of(settings)
    if bool(settings.webhook_cert_file) != bool(settings.webhook_key_file):
        raise ValueError("webhook_cert_file and webhook_key_file go together")
    if settings.webhook_client_names and not settings.webhook_client_ca_file:
        raise ValueError("webhook_client_names needs webhook_client_ca_file, which verifies the certificates")
    if settings.webhook_connections < 1:
        raise ValueError("webhook_connections must be at least 1")
    if settings.webhook_connections_per_peer < 0:
        raise ValueError("webhook_connections_per_peer must be at least 0, which means no limit")
    if not 0 < settings.webhook_deadline <= LONGEST_DEADLINE:
        raise ValueError(f"webhook_deadline must be above 0 and at most {LONGEST_DEADLINE:g} seconds")
    if settings.webhook_url:
        parts = urlsplit(settings.webhook_url)
        if parts.scheme != "https" or not parts.hostname or not parts.path.endswith("/admission") or parts.query:
            raise ValueError(f"webhook_url {settings.webhook_url!r} is no https://HOST:PORT/admission")
    if settings.webhook_service.count("/") != 1 or not all(settings.webhook_service.split("/")):
        raise ValueError(f"webhook_service {settings.webhook_service!r} is no NAMESPACE/NAME")


LEAST_CHECK_MEMORY = 192
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Flaw(NamedTuple):
    """An error of a setting."""

    setting: str
    message: str


class Flawed(ValueError):
    """Settings with errors, all of them."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        super().__init__("; ".join(flaw.message for flaw in flaws))
        self.flaws = tuple(flaws)


def flaws_of(settings: Settings) -> Iterator[Flaw]:
    """Return all errors."""
    for setting, check in _CHECKS:
        try:
            check(settings)
        except ValueError as error:
            yield Flaw(setting, str(error))


def split_address(text: str) -> tuple[str, int]:
    """Return the parts of `HOST:PORT`; raises ValueError for another form."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} is no HOST:PORT")
    return host.strip("[]"), int(port)


def _above_0(setting: str) -> Callable[[Settings], None]:
    def check(settings: Settings) -> None:
        if not getattr(settings, setting) > 0:  # excludes "not a number" too
            raise ValueError(f"{setting} must be above 0")

    return check


def _address(setting: str) -> Callable[[Settings], None]:
    def check(settings: Settings) -> None:
        if (address := getattr(settings, setting)) is not None:
            split_address(address)

    return check


def _without_secret(setting: str, instead: str) -> Callable[[Settings], None]:
    def check(settings: Settings) -> None:
        value = getattr(settings, setting) or ""
        if "://" in value and "@" in urlsplit(value).netloc:
            # The value is not repeated here: the message goes to logs.
            raise ValueError(f"{setting} has a user or a password in it, which would be shown: give {instead}")

    return check


def _namespaces(settings: Settings) -> None:
    for name in settings.policy_namespaces:
        if name != "*" and not _NAMESPACE.fullmatch(name):
            raise ValueError(f"policy_namespaces: {name!r} is not a valid name of a namespace, nor * for all")


def _types_once(settings: Settings) -> None:
    _refuse_twice("types", [one.type for one in settings.selected_types])


def _placement_once(settings: Settings) -> None:
    _refuse_twice("placement", [one.type_id for one in settings.placed_types])


def _refuse_twice(setting: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{setting}: {name} is named twice")


def _end(settings: Settings) -> None:
    if not 0 <= settings.shutdown_drain < settings.shutdown_grace:
        raise ValueError("shutdown_drain must be 0 or more, and less than shutdown_grace")


def _check_memory(settings: Settings) -> None:
    if settings.check_memory_mib < LEAST_CHECK_MEMORY:
        raise ValueError(
            f"check_memory_mib is {settings.check_memory_mib}: `opa` needs at least {LEAST_CHECK_MEMORY} "
            "for the bridge's own modules"
        )


def _decision(settings: Settings) -> None:
    decision_path(settings.decision)


_CHECKS: tuple[tuple[str, Callable[[Settings], None]], ...] = (
    ("opa_query_timeout", _above_0("opa_query_timeout")),
    ("policy_max_leaves", _above_0("policy_max_leaves")),
    ("policy_max_depth", _above_0("policy_max_depth")),
    ("policy_max_target_refs", _above_0("policy_max_target_refs")),
    ("policy_max_size", _above_0("policy_max_size")),
    ("status_writes_per_second", _above_0("status_writes_per_second")),
    ("placement_writes_per_second", _above_0("placement_writes_per_second")),
    ("placement_most_patches", _above_0("placement_most_patches")),
    ("check_memory_mib", _check_memory),
    ("decision", _decision),
    ("opa_url", _without_secret("opa_url", "opa_token_file")),
    ("webhook_decision", _without_secret("webhook_decision", "webhook_token_file")),
    ("opa_url", check_opa),
    ("listen", _address("listen")),
    ("probe_listen", _address("probe_listen")),
    ("webhook_listen", _address("webhook_listen")),
    ("webhook_decision", check_webhook),
    ("shutdown_drain", _end),
    ("types", _types_once),
    ("placement", _placement_once),
    ("policy_namespaces", _namespaces),
)
