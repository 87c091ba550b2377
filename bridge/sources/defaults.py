"""The API server's defaults for manifests (semantics K5), so a cluster and a folder have the same objects.

Their sources are the CRDs among the manifests, those of Gateway API and of vendors (a data file), and a few core kinds.
No time stamp and no uid is invented: values that only a cluster has stay absent. Kinds of Kubernetes itself have
their scope from a list.

The rules are those of "Defaulting and Nullable" in the documentation of custom resources: a default is set if a field
is missing, or null without being nullable; any other null in a field that is not nullable is removed. Both walk object
and schema together and change the object in place. `hack.tools.fields` writes the shipped defaults.
"""

from __future__ import annotations

import copy
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

from bridge.model.keys import CLUSTER, Key, group_of
from bridge.model.nesting import as_mapping
from bridge.model.types import CLUSTER_SCOPED
from bridge.sources.shipped_schemas import shipped_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge.model.changes import Object

    Schema = Mapping[str, Any]

# Kubernetes' own groups in which not every kind counts generations. In the others, especially custom resources', the
# API server does.
_WITHOUT_GENERATION = frozenset(
    {
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "core",
        "events.k8s.io",
        "internal.apiserver.k8s.io",
        "node.k8s.io",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)


DEFAULT_NAMESPACE = "default"

_CORE_SCHEMAS: Mapping[str, Schema] = {
    "core/Service": {
        "properties": {
            "spec": {
                "properties": {
                    "type": {"default": "ClusterIP"},
                    "sessionAffinity": {"default": "None"},
                    "ports": {"items": {"properties": {"protocol": {"default": "TCP"}}}},
                }
            }
        }
    },
    "core/Namespace": {},
}


def known_namespaced() -> dict[str, bool]:
    """Return whether objects are in namespaces, by type, for Kubernetes, Gateway API and vendors with presets."""
    shipped = load_defaults()
    known = {type_id: kind.namespaced for type_id, kind in {**shipped.kinds, **shipped.vendors}.items()}
    return known | dict.fromkeys(CLUSTER_SCOPED, False)


class Defaulter:
    """Adds defaults to objects. `crds` are the CRDs among the manifests; objects of other kinds are ignored."""

    def __init__(self, crds: Iterable[Object] = ()) -> None:
        self._shipped = load_defaults()
        self._namespaced = known_namespaced()
        self._schemas: dict[tuple[str, str], Schema] = {}
        self._defined: set[str] = set()
        for crd in crds:
            if group_of(crd["apiVersion"]) == "apiextensions.k8s.io" and crd["kind"] == "CustomResourceDefinition":
                self._define(crd)

    def key_of(self, obj: Object) -> Key:
        """Return the key of an object with its defaults."""
        metadata = obj["metadata"]
        type_id = Key(group_of(obj["apiVersion"]), obj["kind"], "", "").type_id
        # Objects of an unknown kind are in namespaces.
        namespaced = self._namespaced.get(type_id, True)
        namespace = (metadata.get("namespace") or DEFAULT_NAMESPACE) if namespaced else CLUSTER
        return Key(group_of(obj["apiVersion"]), obj["kind"], namespace, metadata["name"])

    def complete(self, obj: Object) -> Object:
        """Return a copy of an object (apiVersion, kind and metadata.name exist) as the API server would store it."""
        return self.complete_text(msgspec.json.encode(obj))

    def complete_text(self, text: bytes) -> Object:
        """Return the same for an object as JSON."""
        done: Object = msgspec.json.decode(text)
        key = self.key_of(done)
        self._complete_metadata(done["metadata"], key)
        if b"null" in text:
            self._drop_nulls(done, key.type_id)
        if schema := self._schema_of(done, key.type_id):
            set_defaults(done, schema)
        if key.type_id == "core/Service":
            _set_target_ports(done)
        return done

    def _complete_metadata(self, metadata: dict[str, Any], key: Key) -> None:
        for name in [name for name, value in metadata.items() if value is None]:
            del metadata[name]
        for field in ("labels", "annotations"):
            if any(value is None for value in metadata.get(field, {}).values()):
                metadata[field] = {name: "" if value is None else value for name, value in metadata[field].items()}
        if key.namespace == CLUSTER:
            metadata.pop("namespace", None)
        else:
            metadata["namespace"] = key.namespace
        if key.group not in _WITHOUT_GENERATION:
            metadata.setdefault("generation", 1)
        if key.type_id == "core/Namespace":
            labels = metadata.setdefault("labels", {})
            if isinstance(labels, dict):
                labels["kubernetes.io/metadata.name"] = key.name

    def _schema_of(self, obj: Object, type_id: str) -> Schema | None:
        """Return the schema whose defaults count."""
        if type_id in self._defined:
            return self._schemas.get((type_id, _version(obj)))
        if (known := _CORE_SCHEMAS.get(type_id)) is not None:
            return known
        kind = self._shipped.kinds.get(type_id) or self._shipped.vendors.get(type_id)
        return kind.schema if kind else None

    def _drop_nulls(self, obj: Object, type_id: str) -> None:
        """Remove the nulls that the API server does not store."""
        if type_id in self._defined:
            drop_nulls(obj, self._schemas.get((type_id, _version(obj)), _NONE))
        elif type_id in self._shipped.kinds or type_id in _CORE_SCHEMAS:
            _drop_nulls_outside_metadata(obj)  # none of these kinds has a nullable field
        else:
            drop_nulls(obj, shipped_schema(type_id, _version(obj)) or _NONE)

    def _define(self, crd: Object) -> None:
        spec = as_mapping(crd.get("spec"))
        group, kind = spec.get("group"), as_mapping(spec.get("names")).get("kind")
        if not isinstance(group, str) or not isinstance(kind, str):
            return
        type_id = Key(group, kind, "", "").type_id
        self._defined.add(type_id)
        self._namespaced[type_id] = spec.get("scope") != "Cluster"
        versions = spec.get("versions")
        for version in versions if isinstance(versions, list) else ():
            schema = as_mapping(as_mapping(as_mapping(version).get("schema")).get("openAPIV3Schema"))
            if as_mapping(version).get("served", True):
                # metadata is the API server's own: a CRD's defaults do not apply to it.
                properties = as_mapping(schema.get("properties"))
                fields = {name: field for name, field in properties.items() if name != "metadata"}
                self._schemas[type_id, str(as_mapping(version).get("name"))] = {**schema, "properties": fields}


def _version(obj: Object) -> str:
    version: str = obj["apiVersion"].rpartition("/")[2]
    return version


def _drop_nulls_outside_metadata(obj: Object) -> None:
    metadata = obj.pop("metadata")
    drop_all_nulls(obj)
    obj["metadata"] = metadata


def _set_target_ports(service: Object) -> None:
    spec = as_mapping(service.get("spec"))
    ports = spec.get("ports")
    for port in ports if isinstance(ports, list) else ():
        if isinstance(port, dict) and "port" in port and port.get("targetPort", 0) in (0, ""):
            port["targetPort"] = port["port"]


_NONE: Schema = {}


def set_defaults(value: Any, schema: Schema) -> None:
    """Set the defaults of `schema` in `value`, outermost first: a default may itself get defaults."""
    if not schema:
        return
    if isinstance(value, dict):
        properties = mapping_of(schema, "properties")
        others = mapping_of(schema, "additionalProperties")
        for name in {**properties, **value} if others else properties:  # other names have no schema, so no defaults
            field = properties.get(name, others)
            if isinstance(field, dict):
                if "default" in field and _is_unset(value, name, field):
                    value[name] = copy.deepcopy(field["default"])
                if isinstance(value.get(name), (dict, list)):
                    set_defaults(value[name], field)
    elif isinstance(value, list):
        items = mapping_of(schema, "items")
        for index, item in enumerate(value):
            if item is None and "default" in items and not items.get("nullable"):
                value[index] = copy.deepcopy(items["default"])
            set_defaults(value[index], items)


def drop_nulls(value: Any, schema: Schema) -> None:
    """Remove nulls in fields that `schema` knows and that are not nullable. Nulls in lists stay."""
    if not schema:
        return
    if isinstance(value, dict):
        properties = mapping_of(schema, "properties")
        others = mapping_of(schema, "additionalProperties")
        for name, item in list(value.items()):
            field = properties.get(name, others)
            if not isinstance(field, dict) or not field:
                continue
            if item is None and not field.get("nullable"):
                del value[name]
            else:
                drop_nulls(item, field)
    elif isinstance(value, list):
        items = mapping_of(schema, "items")
        for item in value:
            drop_nulls(item, items)


def drop_all_nulls(value: Any) -> None:
    """Remove every null field, for kinds without nullable ones."""
    if isinstance(value, dict):
        for name, item in list(value.items()):
            if item is None:
                del value[name]
            else:
                drop_all_nulls(item)
    elif isinstance(value, list):
        for item in value:
            drop_all_nulls(item)


def _is_unset(value: dict[str, Any], name: str, field: Schema) -> bool:
    return name not in value or (value[name] is None and not field.get("nullable"))


def mapping_of(schema: Schema, name: str) -> Schema:
    """Return a part of a schema; empty if it is not a mapping."""
    # A CRD in a folder may have any value here; validating it is the API server's task.
    found = schema.get(name)
    return found if isinstance(found, dict) else _NONE


FILE = "gateway_api_defaults.json"


class KindDefaults(msgspec.Struct, frozen=True):
    """The CRD of one kind: its scope, and the common defaults of its served versions."""

    namespaced: bool
    schema: dict[str, Any]


class ShippedDefaults(msgspec.Struct, frozen=True):
    """Gateway API's `kinds`, and those of `vendors`, by `<group>/<Kind>`."""

    kinds: dict[str, KindDefaults]
    vendors: dict[str, KindDefaults]


def load_defaults() -> ShippedDefaults:
    """Return the shipped defaults."""
    content = resources.files("bridge.sources").joinpath(FILE).read_bytes()
    return msgspec.json.decode(content, type=ShippedDefaults)
