"""What is dropped from an object before it goes to OPA, because no rule reads it and it is large or secret."""

from __future__ import annotations

from typing import Any

import msgspec

from bridge.model.changes import Object

_CRD = "CustomResourceDefinition"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CRD_KEEPS = ("type", "enum", "x-kubernetes-preserve-unknown-fields")  # what discovery reads beside the names
_CRD_DEPTH = 8  # property names this deep tell the shape of a policy's spec and status


def prune(obj: Object) -> Object:
    """The object without managedFields and kubectl's last-applied annotation; a Secret keeps names and type alone.

    A CustomResourceDefinition keeps of its schemas the property names and what `_CRD_KEEPS` lists. What came in is not
    changed.
    """
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != _LAST_APPLIED}
    if obj["kind"] == "Secret" and obj["apiVersion"] == "v1":
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": parsed(obj.get("type", ""))}
    pruned = {**obj, "metadata": metadata}
    if obj["kind"] == _CRD:
        pruned["spec"] = _crd_spec(parsed(obj.get("spec")))
        pruned.pop("status", None)
    return pruned


def parsed(value: Any) -> Any:
    """A field of an object, parsed if it is JSON text still."""
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value


def _crd_spec(spec: Any) -> Any:
    if not isinstance(spec, dict) or not isinstance(spec.get("versions"), list):
        return spec
    return {**spec, "versions": [_version(version) for version in spec["versions"]]}


def _version(version: Any) -> Any:
    if not isinstance(version, dict):
        return version
    schema = version.get("schema")
    whole = schema.get("openAPIV3Schema") if isinstance(schema, dict) else None
    return {**version, "schema": {"openAPIV3Schema": _skeleton(whole, _CRD_DEPTH)}}


def _skeleton(schema: Any, depth: int) -> Object:
    if not isinstance(schema, dict) or depth == 0:
        return {}
    kept: Object = {name: schema[name] for name in _CRD_KEEPS if name in schema}
    if isinstance(properties := schema.get("properties"), dict):
        kept["properties"] = {name: _skeleton(part, depth - 1) for name, part in properties.items()}
    if "items" in schema:
        kept["items"] = _skeleton(schema["items"], depth - 1)
    return kept
