"""The settings of `pbctl run`: name, type, default, meaning and option of each.

Everything else follows from this model: options, variables of the environment, keys of the file, the schema, the
reference page, and which settings a running bridge reloads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, get_type_hints
from urllib.parse import urlsplit

import msgspec

from bridge.destinations.place import Place
from bridge.destinations.urls import FORMS as DESTINATIONS
from bridge.destinations.urls import place_of
from bridge.model.placement_decision import DEFAULT_DECISION, Mode, Placed, decision_path
from bridge.model.types import Fields, Selection
from bridge.model.views import EFFECTIVE, FORMS, View, class_key, gateway_key, view_of
from bridge.policy_loader.bounds import DEFAULT_MEMORY, MEBIBYTE

PREFIX = "BRIDGE_"  # of environment variables: BRIDGE_OPA_URL sets opa_url
Builtin = Literal["http.send", "net.lookup_ip_addr", "opa.runtime"]
_DATA = "/v1/data/"


def setting(default: Any, text: str, option: str = "", *, reloaded: bool = False) -> Any:
    """Describe a setting. `option` is that of `pbctl run`, with its metavar; `reloaded`: SIGHUP applies a change."""
    return field(default=default, metadata={"text": text, "option": option, "reloaded": reloaded})


def split_address(text: str) -> tuple[str, int]:
    """Return the parts of `HOST:PORT`; raises ValueError for another form."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


class TypeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One entry of the setting `types`: the objects of a type, and their fields (`bridge.model.types`).

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
            raise ValueError(f"types: {self.type!r} is not <group>/<Kind>")
        if self.keep is not None and self.drop is not None:
            raise ValueError(f"types: {self.type} has keep and drop: use one of them")
        for path in (*(self.keep or ()), *(self.drop or ())):
            if not path.startswith("/") or path in {"/", "/apiVersion", "/kind", "/metadata", "/metadata/name"}:
                raise ValueError(f"types: {self.type}: {path!r} is not a field to keep or drop, such as /status")

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
            raise ValueError(f"placement: {self.type!r} is not <group>/<Kind>")
        if self.mode is True:
            raise ValueError(f"placement: {self.type}: the mode is one of Off, Report, Write")
        if self.decision:
            decision_path(self.decision)


class LabelExpression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `matchExpressions` of a label selector."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A label selector of Kubernetes; an empty one selects everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelExpression, ...] = ()


class ViewSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One entry of the setting `publish`: a view of one Gateway, one GatewayClass, or Namespaces by their labels.

    `gateway` is `NAMESPACE/NAME`. The view also has all objects of `types` (`<group>/<Kind>`), for admins' Rego. With
    the content `effective` it has precomputed answers instead of objects.
    """

    name: str
    gateway: str = ""
    gateway_class: str = ""
    namespaces: LabelSelector | None = None
    types: tuple[str, ...] = ()
    content: Literal["objects", "effective"] = "objects"

    def __post_init__(self) -> None:
        """Reject values that the types cannot exclude."""
        if [bool(self.gateway), bool(self.gateway_class), self.namespaces is not None].count(True) != 1:
            raise ValueError(f"publish: {self.name} needs one of gateway, gatewayClass and namespaces")
        for one in self.types:
            if one.count("/") != 1:
                raise ValueError(f"publish: {self.name}: {one!r} is not <group>/<Kind>")

    @property
    def view(self) -> View:
        """Return the view. Raises ValueError for an invalid name."""
        if self.namespaces is not None:
            root, namespaces = None, msgspec.to_builtins(self.namespaces)
        else:
            root, namespaces = gateway_key(self.gateway) if self.gateway else class_key(self.gateway_class), None
        return View(self.name, root, namespaces, self.types, has_answers=self.content == EFFECTIVE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings; `bridge.settings.validation` has their valid values, `bridge.settings.loading` reads them."""

    manifests: tuple[str, ...] = setting(
        (),
        "Serve manifests instead of a cluster: a file, a folder, or - for standard input. Repeatable.",
        "--manifests PATH",
    )
    kubeconfig: str | None = setting(
        None,
        "The kubeconfig of the cluster. Default: as kubectl, otherwise the pod's service account.",
        "--kubeconfig FILE",
    )
    context: str | None = setting(None, "The context in the kubeconfig.", "--context NAME")
    opa_url: str | None = setting(
        None, "Use this OPA (http, https, unix:///PATH) instead of starting one.", "--opa URL"
    )
    opa_token_file: str | None = setting(
        None, "Bearer token for that OPA; read again for each request.", "--opa-token-file FILE"
    )
    opa_ca_file: str | None = setting(
        None,
        "Authorities (PEM) of an https OPA's certificate, or that certificate, instead of the system's authorities.",
    )
    opa_cert_file: str | None = setting(None, "The bridge's client certificate (PEM) for that OPA.")
    opa_key_file: str | None = setting(None, "The key (PEM) of opa_cert_file.")
    opa_readers: str | None = setting(
        None,
        "Tokens of clients that may query OPA: a file with one on each line, or a folder. Default: no tokens.",
    )
    bundle_credentials: str | None = setting(
        None,
        "The token and the keys with which that OPA fetches and verifies bundles, as for `opa-config`.",
        "--bundle-credentials FOLDER",
    )
    opa_port: int | None = setting(None, "The port of the bridge's own OPA. Default: a free one.", "--opa-port PORT")
    opa_socket: str | None = setting(
        None, "The bridge's own OPA listens on this Unix socket instead of a port.", "--opa-socket PATH"
    )
    opa_config_file: str | None = setting(
        None,
        "Configuration (YAML) of the bridge's own OPA, such as decision_logs; the bridge's own parts are added to it.",
    )
    opa_log_level: Literal["error", "info", "debug"] = setting(
        "error", "Log level of the bridge's own OPA; at info the log has what `print` in Rego writes."
    )
    opa_listen: tuple[str, ...] = setting((), "Further addresses of the bridge's own OPA, for opa_readers.")
    listen: str = setting(
        "127.0.0.1:8282", "Address of the page, the bundle, probes and metrics.", "--listen HOST:PORT"
    )
    web_token_file: str | None = setting(
        None, "Bearer token for the page; required unless --listen is loopback.", "--web-token-file FILE"
    )
    probe_listen: str | None = setting(
        None, "Separate address of probes and metrics. Default: as --listen.", "--probe-listen HOST:PORT"
    )
    types: tuple[str | TypeSettings, ...] = setting(
        (), "Types to replicate in addition to Gateway API's and the policy kinds': <group>/<Kind>, core group `core`."
    )
    policy_namespaces: tuple[str, ...] = setting(
        ("opa-policies",), "Namespaces of the ConfigMaps with admins' Rego and data; * for all."
    )
    policy_rego_version: Literal["v0", "v1"] = setting(
        "v1", "Version of the Rego in ConfigMaps without the label policybridge.io/rego-version."
    )
    allowed_builtins: tuple[Builtin, ...] = setting((), "Built-ins with network access that admins' Rego may use.")
    check_memory_mib: int = setting(
        DEFAULT_MEMORY // MEBIBYTE,
        "Maximum memory in MiB of one check or test of admins' Rego, on Linux; each author has a share.",
    )
    kubernetes_view: bool = setting(True, "Provide objects at data.kubernetes, too, in kube-mgmt's layout.")
    opa_query_timeout: float = setting(
        5.0, "Seconds for a query about changed objects. The bridge later retries an object that takes longer alone."
    )
    policy_max_leaves: int = setting(3_000, "Maximum number of values in a policy; a policy with more is Invalid.")
    policy_max_depth: int = setting(64, "Maximum number of levels of a policy; a deeper policy is Invalid.")
    policy_max_target_refs: int = setting(
        256, "Maximum number of target refs of a policy; a policy with more is Invalid."
    )
    policy_max_size: int = setting(
        256 << 10, "Maximum number of characters of a policy as JSON; a larger policy is Invalid."
    )
    status_writes_per_second: float = setting(50.0, "Maximum number of status writes per second.", reloaded=True)
    decision: str = setting(DEFAULT_DECISION, "The document of placement decisions, for `placement` and the webhook.")
    placement: tuple[str | PlacementSettings, ...] = setting(
        (), "Types whose objects get the annotations of a decision: <group>/<Kind>."
    )
    placement_writes_per_second: float = setting(10.0, "Maximum number of placement patches per second.", reloaded=True)
    placement_most_patches: int = setting(
        5, "Maximum number of placement patches of one object per minute.", reloaded=True
    )
    lease_namespace: str = setting("default", "Namespace of the Lease whose holder writes to the cluster.")
    lease_name: str = setting("policy-bridge", "Name of this Lease.")
    webhook_listen: str | None = setting(
        None, "Address of the admission webhook, over TLS. Default: no webhook.", "--webhook-listen HOST:PORT"
    )
    webhook_cert_file: str | None = setting(
        None, "Certificate (PEM) of the webhook, required in a Pod. Default: a certificate for this run."
    )
    webhook_key_file: str | None = setting(None, "The key (PEM) of webhook_cert_file.")
    webhook_client_ca_file: str | None = setting(
        None, "Authority (PEM) of client certificates; the webhook rejects clients without one. Default: any client."
    )
    webhook_client_names: tuple[str, ...] = setting(
        (), "Accepted common names of client certificates. Default: any certificate of that authority."
    )
    webhook_tls_min_version: Literal["TLSv1.2", "TLSv1.3"] = setting("TLSv1.3", "Minimum TLS version of the webhook.")
    webhook_connections: int = setting(512, "Maximum number of connections of the webhook.")
    webhook_connections_per_peer: int = setting(
        256, "Maximum number of connections of one address without a client certificate; 0: any number."
    )
    webhook_decision: str | None = setting(
        None,
        "For the webhook instead of `decision`: another document, the URL of one in another OPA, or empty for none.",
        reloaded=True,
    )
    webhook_input: Literal["object", "review"] = setting(
        "object",
        "Input of the webhook's decision: the object, or the whole AdmissionReview, of every request.",
        reloaded=True,
    )
    webhook_token_file: str | None = setting(
        None, "Bearer token for that other OPA; read again for each request.", reloaded=True
    )
    webhook_deadline: float = setting(
        10.0, "Seconds for a response of the webhook, unless the API server's timeout is shorter.", reloaded=True
    )
    webhook_configuration: str = setting(
        "policy-bridge", "The mutating and the validating webhook configuration whose failurePolicy the bridge sets."
    )
    webhook_service: str = setting("policy-bridge/policy-bridge", "Namespace and name of the webhook's Service.")
    webhook_url: str | None = setting(None, "URL of the webhook instead of a Service: https://HOST:PORT/admission.")
    read_only: bool = setting(
        False,
        "Write nothing to the cluster: no statuses, annotations, reports, Events or Lease. Problems of admins' Rego "
        "are logged.",
        "--read-only",
    )
    config_dumps: tuple[str, ...] = setting(
        (),
        "Configurations of proxies, with which the page compares effective policies: files, or URLs of Envoy's admin "
        "interface. Repeatable.",
        "--config-dump FILE|URL",
    )
    publish: tuple[str | ViewSettings, ...] = setting(
        (),
        f"Views to publish as bundles for other OPAs: {FORMS}; in a file also with labels. Repeatable.",
        "--publish VIEW",
    )
    publish_to: tuple[str, ...] = setting(
        (),
        f"Where to store the views as well, for OPAs that do not reach the bridge: {DESTINATIONS}. Repeatable.",
        "--publish-to URL",
    )
    cluster: str = setting(
        "", "The name of this cluster among those of a fleet: no other one stores views in its place.", "--cluster NAME"
    )
    publish_listen: str = setting("127.0.0.1:8484", "Address of the views.", "--publish-listen HOST:PORT")
    publish_cert_file: str | None = setting(
        None, "Certificate (PEM) of publish_listen, required unless that is loopback.", "--publish-cert-file FILE"
    )
    publish_key_file: str | None = setting(None, "The key (PEM) of publish_cert_file.", "--publish-key-file FILE")
    publish_credentials: str | None = setting(
        None,
        "The keys that sign and verify views, and the token for all of them; created if it does not exist.",
        "--publish-credentials FOLDER",
    )
    publish_tokens: str | None = setting(
        None,
        "Tokens for views instead of that one: a file with one on each line, or a folder with a file for each view.",
    )
    shutdown_grace: float = setting(25.0, "Seconds for all steps of stopping.")
    shutdown_drain: float = setting(5.0, "Seconds of these in which the webhook continues to respond.")
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "Lowest level of logged events.", "--log-level LEVEL", reloaded=True
    )
    log_format: Literal["console", "json"] = setting(
        "console", "Form of the log on standard error.", "--log-format FORMAT", reloaded=True
    )

    @property
    def selected_types(self) -> tuple[TypeSettings, ...]:
        """Return the setting `types`, each in its long form."""
        return tuple(TypeSettings(type=one) if isinstance(one, str) else one for one in self.types)

    @property
    def check_memory(self) -> int:
        """Return the maximum memory of one check of admins' Rego, in bytes."""
        return self.check_memory_mib * MEBIBYTE

    @property
    def policy_bounds(self) -> dict[str, int]:
        """Return the bounds on a policy, as the document `data.bridge_settings.bounds`."""
        return {
            "leaves": self.policy_max_leaves,
            "depth": self.policy_max_depth,
            "targetRefs": self.policy_max_target_refs,
            "size": self.policy_max_size,
        }

    @property
    def type_versions(self) -> dict[str, str]:
        """Return the versions in `types`, by type, as the document `data.bridge_settings.versions`."""
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
    def views(self) -> tuple[View, ...]:
        """Return the setting `publish`. Raises ValueError for an invalid view."""
        return tuple(view_of(one, self.cluster) if isinstance(one, str) else one.view for one in self.publish)

    @property
    def destinations(self) -> tuple[Place, ...]:
        """Return the setting `publish_to`. Raises ValueError for an invalid destination."""
        return tuple(map(place_of, self.publish_to))

    @property
    def listen_address(self) -> tuple[str, int]:
        """Return host and port of `listen`."""
        return split_address(self.listen)

    @property
    def opa_requires_tokens(self) -> bool:
        """Return whether the bridge's own OPA requires tokens."""
        return self.opa_readers is not None

    @property
    def admission_decision(self) -> tuple[str, str]:
        """Return the webhook's placement decision, as (URL of another OPA, path of the document); "" each if none.

        Raises ValueError for a setting that is neither a document nor a URL of OPA's data API.
        """
        text = self.decision if self.webhook_decision is None else self.webhook_decision
        if not text:
            return "", ""
        if "://" not in text:
            document = decision_path(text)
            return "", "/".join(("bridge", *document) if document[0] == "system" else document)
        parts = urlsplit(text)
        before, data, path = parts.path.partition(_DATA)
        if parts.scheme not in {"http", "https"} or not parts.hostname or not data or parts.query:
            raise ValueError(
                f"webhook_decision {text!r} is not a URL of a decision: write https://HOST:PORT/v1/data/PATH"
            )
        return f"{parts.scheme}://{parts.netloc}{before}", "/".join(decision_path(path))

    @property
    def webhook_host_names(self) -> tuple[str, ...]:
        """Return the API server's names for the webhook, which its certificate must cover."""
        if self.webhook_url:
            return (urlsplit(self.webhook_url).hostname or "",)
        namespace, _, name = self.webhook_service.partition("/")
        return (f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local")


class Setting(NamedTuple):
    """One setting of the model; `option` has a metavar, or is empty."""

    name: str
    type: Any
    default: Any
    text: str
    option: str
    reloaded: bool

    @property
    def variable(self) -> str:
        """Return its variable of the environment."""
        return PREFIX + self.name.upper()


def _described() -> Mapping[str, Setting]:
    types = get_type_hints(Settings)
    return {one.name: Setting(one.name, types[one.name], one.default, **one.metadata) for one in fields(Settings)}


SETTINGS = _described()  # by name
RELOADED = tuple(name for name, one in SETTINGS.items() if one.reloaded)


def settings_schema(ref_template: str = "#/$defs/{name}") -> dict[str, Any]:
    """Return the definitions of a JSON Schema, by name: `Settings` is the contents of a settings file."""
    _, definitions = msgspec.json.schema_components([Settings], ref_template=ref_template)
    schema = definitions["Settings"]
    schema["additionalProperties"] = False
    for name, part in schema["properties"].items():
        part["description"] = SETTINGS[name].text
    return definitions
