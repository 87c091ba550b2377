"""Valid settings beyond their types, as one table: values in range, and settings that fit together."""

import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from bridge.destinations.urls import check_destinations
from bridge.model.placement_decision import decision_path
from bridge.model.views import check_views, name_of_cluster
from bridge.opa.address import read_address
from bridge.opa.errors import OpaError
from bridge.policy_loader.bounds import LEAST_MEMORY, MEBIBYTE
from bridge.settings.model import Settings, split_address

LONGEST_DEADLINE = 30.0  # seconds; the API server's longest timeout for a webhook
LEAST_CHECK_MEMORY = LEAST_MEMORY // MEBIBYTE
_NAMESPACE = re.compile(r"\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

# The name of a setting, whether its value is valid, and otherwise the error: it follows the name, `{}` is the value.
# A function that parses a value raises ValueError or OpaError with the error.
Rule = tuple[str, Callable[[Settings], object], str]


def errors_of(settings: Settings) -> Mapping[str, str]:
    """Return the error of each invalid setting, by name: that of the first rule in the table which it violates."""
    found: dict[str, str] = {}
    for name, valid, text in _RULES:
        if name in found:
            continue
        try:
            error = "" if valid(settings) else f"{name}{text.format(getattr(settings, name))}"
        except (ValueError, OpaError) as unreadable:
            error = str(unreadable)
        if error and error not in found.values():
            found[name] = error
    return found


def _above_0(name: str) -> Rule:
    return name, lambda s: getattr(s, name) > 0, " must be above 0"  # NaN is not


def _without_password(name: str, instead: str) -> Rule:
    def valid(settings: Settings) -> bool:
        value = getattr(settings, name) or ""
        return "://" not in value or "@" not in urlsplit(value).netloc

    # The value is not repeated here: the message goes to logs.
    return name, valid, f" has a user or a password in it, which would be shown: give {instead}"


def _own_opa(name: str) -> Rule:
    text = " is for the OPA that the bridge starts, and opa_url names another"
    return name, lambda s: not (s.opa_url and getattr(s, name)), text


def _pair(name: str, other: str) -> Rule:
    return name, lambda s: bool(getattr(s, name)) == bool(getattr(s, other)), f" and {other} go together"


def _address(name: str) -> Rule:
    return name, lambda s: getattr(s, name) is None or split_address(getattr(s, name)), ""


def _without_repeats(setting: str, names: Sequence[str]) -> bool:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{setting}: {name} is listed twice")
    return True


def _are_namespaces(names: Sequence[str]) -> bool:
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise ValueError(f"policy_namespaces: {name!r} is not a valid name of a namespace, nor * for all")
    return True


def _is_webhook_url(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" and bool(parts.hostname) and parts.path.endswith("/admission") and not parts.query


_RULES: tuple[Rule, ...] = (
    _above_0("opa_query_timeout"),
    _above_0("policy_max_leaves"),
    _above_0("policy_max_depth"),
    _above_0("policy_max_target_refs"),
    _above_0("policy_max_size"),
    _above_0("status_writes_per_second"),
    _above_0("placement_writes_per_second"),
    _above_0("placement_most_patches"),
    (
        "check_memory_mib",
        lambda s: s.check_memory_mib >= LEAST_CHECK_MEMORY,
        f" is {{}}: `opa` needs at least {LEAST_CHECK_MEMORY} for the bridge's own modules",
    ),
    _without_password("opa_url", "opa_token_file"),
    _without_password("webhook_decision", "webhook_token_file"),
    ("opa_url", lambda s: s.opa_url is None or read_address(s.opa_url or "localhost"), ""),
    ("opa_socket", lambda s: not s.opa_socket or read_address(f"unix://{s.opa_socket}"), ""),
    ("opa_port", lambda s: s.opa_port is None or 0 < s.opa_port < 65536, " {} is not a port: 1 to 65535"),
    (
        "opa_port",
        lambda s: not s.opa_port or not s.opa_socket,
        " and opa_socket cannot be used together: OPA listens on one of them for the bridge",
    ),
    _own_opa("opa_port"),
    _own_opa("opa_socket"),
    _own_opa("opa_listen"),
    _own_opa("opa_config_file"),
    _pair("opa_cert_file", "opa_key_file"),
    (
        "bundle_credentials",
        lambda s: s.opa_url or not s.bundle_credentials,
        " is for the OPA that opa_url names; one that the bridge starts needs none",
    ),
    (
        "opa_listen",
        lambda s: s.opa_requires_tokens or not s.opa_listen,
        " needs opa_readers: without tokens every client of that address could write to OPA",
    ),
    (
        "opa_readers",
        lambda s: s.opa_token_file or not s.opa_url or not s.opa_requires_tokens,
        " needs opa_token_file: an OPA that requires tokens requires one of the bridge, too",
    ),
    _address("listen"),
    _address("probe_listen"),
    _address("webhook_listen"),
    _address("publish_listen"),
    (
        "read_only",
        lambda s: not s.read_only or s.webhook_listen is None,
        " excludes webhook_listen: the bridge writes the webhook's configuration",
    ),
    ("read_only", lambda s: not s.read_only or not s.publish_to, " excludes publish_to: only a writer stores views"),
    ("publish", lambda s: check_views(s.views), ""),
    ("publish_to", lambda s: check_destinations(s.destinations, s.views), ""),
    ("publish_to", lambda s: s.publish or not s.publish_to, " needs publish, which names the views"),
    ("cluster", lambda s: not s.cluster or name_of_cluster(s.cluster), ""),
    _pair("publish_cert_file", "publish_key_file"),
    ("decision", lambda s: decision_path(s.decision), ""),
    ("webhook_decision", lambda s: s.admission_decision, ""),
    _pair("webhook_cert_file", "webhook_key_file"),
    (
        "webhook_client_names",
        lambda s: s.webhook_client_ca_file or not s.webhook_client_names,
        " needs webhook_client_ca_file, which verifies the certificates",
    ),
    ("webhook_connections", lambda s: s.webhook_connections >= 1, " must be at least 1"),
    (
        "webhook_connections_per_peer",
        lambda s: s.webhook_connections_per_peer >= 0,
        " must be at least 0, which means no limit",
    ),
    (
        "webhook_deadline",
        lambda s: 0 < s.webhook_deadline <= LONGEST_DEADLINE,
        f" must be above 0 and at most {LONGEST_DEADLINE:g} seconds",
    ),
    (
        "webhook_url",
        lambda s: not s.webhook_url or _is_webhook_url(s.webhook_url),
        " {!r} is not https://HOST:PORT/admission",
    ),
    ("webhook_service", lambda s: re.fullmatch("[^/]+/[^/]+", s.webhook_service), " {!r} is not NAMESPACE/NAME"),
    (
        "shutdown_drain",
        lambda s: 0 <= s.shutdown_drain < s.shutdown_grace,
        " must be 0 or more, and less than shutdown_grace",
    ),
    ("types", lambda s: _without_repeats("types", [one.type for one in s.selected_types]), ""),
    ("placement", lambda s: _without_repeats("placement", [one.type_id for one in s.placed_types]), ""),
    ("policy_namespaces", lambda s: _are_namespaces(s.policy_namespaces), ""),
)
