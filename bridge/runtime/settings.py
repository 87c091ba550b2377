"""Settings: one file, the environment over it, flags over both."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec
import yaml

from bridge.model.placement import DEFAULT_DECISION, Mode, Placed, decision_path
from bridge.model.selection import Fields, Selection
from bridge.runtime.opa_settings import check_opa
from bridge.runtime.webhook_settings import check_webhook

PREFIX = "BRIDGE_"  # of environment variables: BRIDGE_OPA_URL sets opa_url


POLICY_NAMESPACES = ("opa-policies",)
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class SettingsError(Exception):
    """A setting that is unknown, of the wrong type, or out of its range. Says which, where, and what would do."""


class TypeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One entry of the setting `types`: which objects of a type, and which of their fields (`bridge.model.selection`).

    `type` is `<group>/<Kind>`; selectors are the API server's own; `keep` and `drop` are JSON Pointers.
    """

    type: str
    version: str = ""
    namespaces: tuple[str, ...] = ()
    label_selector: str = ""
    field_selector: str = ""
    keep: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what no type can say."""
        if self.type.count("/") != 1:
            raise ValueError(f"types: {self.type!r} is no <group>/<Kind>")
        if self.keep is not None and self.drop is not None:
            raise ValueError(f"types: {self.type} has keep and drop; one of them says it all")
        for path in (*(self.keep or ()), *(self.drop or ())):
            if not path.startswith("/") or path in {"/", "/apiVersion", "/kind", "/metadata", "/metadata/name"}:
                raise ValueError(f"types: {self.type}: {path!r} is no field to keep or drop, such as /status")

    @property
    def selection(self) -> Selection:
        """Which objects."""
        return Selection(self.version, self.namespaces, self.label_selector, self.field_selector)

    @property
    def fields(self) -> Fields:
        """Which fields."""
        return Fields(self.keep, self.drop)


class PlacementSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One entry of the setting `placement`: objects of a type (`<group>/<Kind>`) that are placed.

    `decision` is the document that says how; empty: the setting of that name.
    """

    type: str
    mode: Mode | bool = "Report"  # `Off` without quotes is YAML 1.1's false
    decision: str = ""

    def __post_init__(self) -> None:
        """Refuse what no type can say."""
        if self.type.count("/") != 1:
            raise ValueError(f"placement: {self.type!r} is no <group>/<Kind>")
        if self.mode is True:
            raise ValueError(f"placement: {self.type}: the mode is one of Off, Report, Write")
        if self.decision:
            decision_path(self.decision)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `bridge run` can be told.

    Sources: `manifests` (paths; then there is no cluster) or `kubeconfig` and `context` (default: as kubectl finds
    them, else the pod's own account). `opa_url` names an OPA that runs already; without it the bridge runs its own, on
    `opa_port` (default: a free one) or the Unix socket `opa_socket`, and at `opa_listen` for readers. `opa_token_file`
    is what the bridge shows to OPA, `opa_readers` (a file or a folder) are the tokens of those who may ask it; over TLS
    `opa_ca_file` is what OPA's certificate is checked with, `opa_cert_file` and `opa_key_file` our own.
    `listen` serves the bundle and the page, which needs the token in `web_token_file` elsewhere than on a loopback
    address. `types` are replicated besides Gateway API's and the policy kinds' (`<group>/<Kind>`, group `core` for
    the core one). `status_writes_per_second` bounds what is written. Only the holder of the Lease
    `lease_namespace/lease_name` writes. `decision` is the document that is asked how an object is to be placed, by
    the admission webhook and for the types of `placement`, of which `placement_writes_per_second` bounds the
    patches, and `placement_most_patches` those of one object a minute.

    `webhook_listen` serves admission over TLS, with the certificate files or else with one of its own, kept in the
    Secret `lease_namespace/webhook_secret`. `webhook_decision` says where the
    webhook asks otherwise than `decision`: another document, a URL of another OPA's (with `webhook_token_file`), or
    empty for nowhere. `webhook_deadline` is in seconds. The API server reaches it by
    `webhook_service` or `webhook_url`, as the MutatingWebhookConfiguration `webhook_configuration` says.
    Admins' Rego and data come from ConfigMaps of `policy_namespaces` (`*` for all), and from RegoPolicies; it may use
    the built-in functions that reach out only where `allowed_builtins` names them, and finds objects at
    `data.kubernetes` too unless `kubernetes_view` is off.

    A bridge that is told to end has `shutdown_grace` seconds; its webhook answers on for `shutdown_drain` of them.
    """

    manifests: tuple[str, ...] = ()
    kubeconfig: str | None = None
    context: str | None = None
    opa_url: str | None = None
    opa_token_file: str | None = None
    opa_ca_file: str | None = None
    opa_cert_file: str | None = None
    opa_key_file: str | None = None
    opa_readers: str | None = None
    opa_port: int | None = None
    opa_socket: str | None = None
    opa_listen: tuple[str, ...] = ()
    listen: str = "127.0.0.1:8282"
    probe_listen: str | None = None
    web_token_file: str | None = None
    types: tuple[str | TypeSettings, ...] = ()
    policy_namespaces: tuple[str, ...] = POLICY_NAMESPACES
    allowed_builtins: tuple[Literal["http.send", "net.lookup_ip_addr", "opa.runtime"], ...] = ()
    kubernetes_view: bool = True
    status_writes_per_second: float = 50.0
    decision: str = DEFAULT_DECISION
    placement: tuple[str | PlacementSettings, ...] = ()
    placement_writes_per_second: float = 10.0
    placement_most_patches: int = 5
    lease_namespace: str = "default"
    lease_name: str = "policy-bridge"
    webhook_listen: str | None = None
    webhook_cert_file: str | None = None
    webhook_key_file: str | None = None
    webhook_secret: str = "policy-bridge-webhook"  # noqa: S105 - the name of a Secret
    webhook_decision: str | None = None
    webhook_token_file: str | None = None
    webhook_deadline: float = 10.0
    webhook_configuration: str = "policy-bridge"
    webhook_service: str = "policy-bridge/policy-bridge"
    webhook_url: str | None = None
    shutdown_grace: float = 25.0
    shutdown_drain: float = 5.0
    log_level: str = "info"
    log_format: str = "console"

    def __post_init__(self) -> None:
        """Refuse what no type can say."""
        if not self.status_writes_per_second > 0:  # nor is "not a number" above 0
            raise ValueError("status_writes_per_second must be above 0")
        if not self.placement_writes_per_second > 0:
            raise ValueError("placement_writes_per_second must be above 0")
        if self.placement_most_patches < 1:
            raise ValueError("placement_most_patches must be above 0")
        decision_path(self.decision)
        if self.log_level not in {"debug", "info", "warning", "error"}:
            raise ValueError(f"log_level {self.log_level!r} is none of debug, info, warning, error")
        if self.log_format not in {"console", "json"}:
            raise ValueError(f"log_format {self.log_format!r} is none of console, json")
        check_opa(self)
        split_address(self.listen)
        split_address(self.listen if self.probe_listen is None else self.probe_listen)
        split_address(self.listen if self.webhook_listen is None else self.webhook_listen)
        check_webhook(self)
        _refuse_no_end(self.shutdown_drain, self.shutdown_grace)
        placed = [one.type_id for one in self.placed_types]
        for setting, named in (("types", [one.type for one in self.selected_types]), ("placement", placed)):
            for type_id in named:
                if named.count(type_id) > 1:
                    raise ValueError(f"{setting}: {type_id} is named twice")
        _refuse_no_namespaces(self.policy_namespaces)

    @property
    def selected_types(self) -> tuple[TypeSettings, ...]:
        """The setting `types`, each in its long form."""
        return tuple(TypeSettings(type=one) if isinstance(one, str) else one for one in self.types)

    @property
    def placed_types(self) -> tuple[Placed, ...]:
        """The setting `placement`, each in its long form, without those that are off."""
        chosen = [PlacementSettings(type=one) if isinstance(one, str) else one for one in self.placement]
        return tuple(
            Placed(one.type, one.mode, decision_path(one.decision or self.decision))
            for one in chosen
            if not isinstance(one.mode, bool) and one.mode != "Off"
        )

    @property
    def listen_address(self) -> tuple[str, int]:
        """Host and port of `listen`."""
        return split_address(self.listen)


def _refuse_no_end(drain: float, grace: float) -> None:
    if not 0 <= drain < grace:
        raise ValueError("shutdown_drain must be 0 or more, and less than shutdown_grace")


def _refuse_no_namespaces(names: Iterable[str]) -> None:
    for name in names:
        if name != "*" and not _NAMESPACE.fullmatch(name):
            raise ValueError(f"policy_namespaces: {name!r} is no name of a namespace, nor * for all")


def split_address(text: str) -> tuple[str, int]:
    """`HOST:PORT` in parts; raises ValueError that says so otherwise."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} is no HOST:PORT")
    return host.strip("[]"), int(port)


def load_settings(
    file: Path | None = None, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read the settings; flags that are None or empty count as not given. Raises SettingsError."""
    found = _from_file(file) if file else {}
    found.update(_from_environment(environ))
    found.update({name: value for name, value in (flags or {}).items() if value not in (None, (), [])})
    try:
        return msgspec.convert(found, Settings, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise SettingsError(str(error)) from error


def _from_file(file: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: no UTF-8 text: {error.reason}") from error
    except yaml.YAMLError as error:
        raise SettingsError(f"{file}: no YAML: {error}".replace("\n", " ")) from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SettingsError(f"{file}: settings are a mapping of names to values")
    for name in found:
        if name not in Settings.__struct_fields__:
            near = difflib.get_close_matches(str(name), Settings.__struct_fields__, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(Settings.__struct_fields__)}"
            raise SettingsError(f"{file}: there is no setting {name!r}{hint}")
    return found


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, hint in get_type_hints(Settings).items():
        value = environ.get(PREFIX + name.upper())
        if value is not None:
            found[name] = tuple(filter(None, value.split(","))) if "tuple" in str(hint) else value
    return found
