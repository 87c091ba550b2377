"""What no type can say of settings: values out of their range, and settings that do not go together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from bridge.model.placement import decision_path
from bridge.runtime.opa_settings import check_opa
from bridge.runtime.webhook_settings import check_webhook

if TYPE_CHECKING:
    from bridge.runtime.settings import Settings

LEAST_CHECK_MEMORY = 192
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Flaw(NamedTuple):
    """What is wrong with a setting."""

    setting: str
    message: str


class Flawed(ValueError):
    """Settings that have flaws, all of them."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        super().__init__("; ".join(flaw.message for flaw in flaws))
        self.flaws = tuple(flaws)


def flaws_of(settings: Settings) -> Iterator[Flaw]:
    """Everything that is wrong."""
    for setting, check in _CHECKS:
        try:
            check(settings)
        except ValueError as error:
            yield Flaw(setting, str(error))


def split_address(text: str) -> tuple[str, int]:
    """`HOST:PORT` in parts; raises ValueError that says so otherwise."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} is no HOST:PORT")
    return host.strip("[]"), int(port)


def _above_0(setting: str) -> Callable[[Settings], None]:
    def check(settings: Settings) -> None:
        if not getattr(settings, setting) > 0:  # nor is "not a number" above 0
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
            # The value is not repeated here: this goes to logs.
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
