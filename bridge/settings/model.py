"""Settings: their names, types and meanings."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridge.model.placement import DEFAULT_DECISION, Mode, Placed, decision_path
from bridge.model.selection import Fields, Selection
from bridge.settings.validation import Flawed, flaws_of, split_address

PREFIX = "BRIDGE_"  # of environment variables: BRIDGE_OPA_URL sets opa_url
POLICY_BOUNDS = ("policy_max_leaves", "policy_max_depth", "policy_max_target_refs", "policy_max_size")
POLICY_NAMESPACES = ("opa-policies",)
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["console", "json"]
TlsVersion = Literal["TLSv1.2", "TLSv1.3"]


class TypeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One entry of the setting `types`: the objects of a type, and their fields (`bridge.model.selection`).

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
        """Reject values that the types cannot exclude."""
        if self.type.count("/") != 1:
            raise ValueError(f"types: {self.type!r} is no <group>/<Kind>")
        if self.keep is not None and self.drop is not None:
            raise ValueError(f"types: {self.type} has keep and drop; one of them says it all")
        for path in (*(self.keep or ()), *(self.drop or ())):
            if not path.startswith("/") or path in {"/", "/apiVersion", "/kind", "/metadata", "/metadata/name"}:
                raise ValueError(f"types: {self.type}: {path!r} is no field to keep or drop, such as /status")

    @property
    def selection(self) -> Selection:
        """Return the selected objects."""
        return Selection(self.version, self.namespaces, self.label_selector, self.field_selector)

    @property
    def fields(self) -> Fields:
        """Return the selected fields."""
        return Fields(self.keep, self.drop)


class PlacementSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One entry of the setting `placement`: objects of a type (`<group>/<Kind>`) that are placed.

    `decision` is the decision document; empty: the setting of that name.
    """

    type: str
    mode: Mode | bool = "Report"  # `Off` without quotes is YAML 1.1's false
    decision: str = ""

    def __post_init__(self) -> None:
        """Reject values that the types cannot exclude."""
        if self.type.count("/") != 1:
            raise ValueError(f"placement: {self.type!r} is no <group>/<Kind>")
        if self.mode is True:
            raise ValueError(f"placement: {self.type}: the mode is one of Off, Report, Write")
        if self.decision:
            decision_path(self.decision)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of `bridge run`.

    Sources: `manifests` (paths; then there is no cluster) or `kubeconfig` and `context` (default: as kubectl finds
    them, otherwise the pod's own account). `opa_url` names a running OPA; without it the bridge runs its own, on
    `opa_port` (default: a free one) or the Unix socket `opa_socket`, and at `opa_listen` for readers. `opa_token_file`
    has the bridge's token for OPA, `opa_readers` (a file or a folder) the tokens of clients that may query it; over TLS
    `opa_ca_file` verifies OPA's certificate, and `opa_cert_file` and `opa_key_file` are the client certificate.
    `bundle_credentials` is a folder with the secrets with which the OPA at `opa_url` fetches and verifies bundles.
    `listen` serves the bundle and the page, which needs the token in `web_token_file` except on a loopback address.
    `types` are replicated in addition to Gateway API's and the policy kinds' (`<group>/<Kind>`, group `core` for the
    core group). `status_writes_per_second` bounds status writes. Only the holder of the Lease
    `lease_namespace/lease_name` writes. `decision` is the document of placement decisions, for the admission webhook
    and for the types of `placement`. `placement_writes_per_second` bounds their patches, and `placement_most_patches`
    those of one object per minute.

    `webhook_listen` serves admission over TLS, with the certificate files or a generated certificate in the Secret
    `lease_namespace/webhook_secret`. With `webhook_client_ca_file` it accepts only clients with a certificate of that
    authority, and of these only the common names `webhook_client_names` if there are any. It has at most
    `webhook_connections`, and `webhook_connections_per_peer` of one address without a client certificate (0: any
    number). `webhook_decision` replaces `decision` for the webhook: another document, the URL of one in another OPA
    (with `webhook_token_file`), or empty for none. `webhook_deadline` is in seconds. The API server reaches it by
    `webhook_service` or `webhook_url`, according to the mutating and the validating configuration
    `webhook_configuration`. Admins' Rego and data come from ConfigMaps of `policy_namespaces` (`*` for all), and from
    RegoPolicies; it may use built-in functions with network access only if `allowed_builtins` names them, and also has
    objects at `data.kubernetes` unless `kubernetes_view` is off. Checking and testing it may use `check_memory_mib`
    MiB.

    A query about changed objects has `opa_query_timeout` seconds; an object that takes longer alone is retried later. A
    policy with more leaves, levels, target refs or characters of JSON than the settings `policy_max_…` is Invalid.

    A stopping bridge has `shutdown_grace` seconds; its webhook continues to respond for `shutdown_drain` of them.
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
    bundle_credentials: str | None = None
    opa_port: int | None = None
    opa_socket: str | None = None
    opa_listen: tuple[str, ...] = ()
    listen: str = "127.0.0.1:8282"
    probe_listen: str | None = None
    web_token_file: str | None = None
    types: tuple[str | TypeSettings, ...] = ()
    policy_namespaces: tuple[str, ...] = POLICY_NAMESPACES
    allowed_builtins: tuple[Literal["http.send", "net.lookup_ip_addr", "opa.runtime"], ...] = ()
    check_memory_mib: int = 384
    kubernetes_view: bool = True
    opa_query_timeout: float = 5.0
    policy_max_leaves: int = 3_000
    policy_max_depth: int = 64
    policy_max_target_refs: int = 256
    policy_max_size: int = 256 << 10
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
    webhook_client_ca_file: str | None = None
    webhook_client_names: tuple[str, ...] = ()
    webhook_tls_min_version: TlsVersion = "TLSv1.3"
    webhook_connections: int = 512
    webhook_connections_per_peer: int = 256
    webhook_secret: str = "policy-bridge-webhook"  # noqa: S105 - the name of a Secret
    webhook_decision: str | None = None
    webhook_token_file: str | None = None
    webhook_deadline: float = 10.0
    webhook_configuration: str = "policy-bridge"
    webhook_service: str = "policy-bridge/policy-bridge"
    webhook_url: str | None = None
    shutdown_grace: float = 25.0
    shutdown_drain: float = 5.0
    log_level: LogLevel = "info"
    log_format: LogFormat = "console"

    def __post_init__(self) -> None:
        """Reject values that the types cannot exclude, with all errors (`bridge.settings.validation.Flawed`)."""
        flaws = tuple(flaws_of(self))
        if flaws:
            raise Flawed(flaws)

    @property
    def selected_types(self) -> tuple[TypeSettings, ...]:
        """Return the setting `types`, each in its long form."""
        return tuple(TypeSettings(type=one) if isinstance(one, str) else one for one in self.types)

    @property
    def policy_bounds(self) -> dict[str, int]:
        """Return the bounds on a policy, as the document `data.bridge.bounds`."""
        return {
            "leaves": self.policy_max_leaves,
            "depth": self.policy_max_depth,
            "targetRefs": self.policy_max_target_refs,
            "size": self.policy_max_size,
        }

    @property
    def type_versions(self) -> dict[str, str]:
        """Return the versions in `types`, by type, as the document `data.bridge.versions`."""
        return {one.type: one.version for one in self.selected_types if one.version}

    @property
    def placed_types(self) -> tuple[Placed, ...]:
        """Return the setting `placement`, each in its long form, without those that are off."""
        chosen = [PlacementSettings(type=one) if isinstance(one, str) else one for one in self.placement]
        return tuple(
            Placed(one.type, one.mode, decision_path(one.decision or self.decision))
            for one in chosen
            if not isinstance(one.mode, bool) and one.mode != "Off"
        )

    @property
    def listen_address(self) -> tuple[str, int]:
        """Return host and port of `listen`."""
        return split_address(self.listen)
