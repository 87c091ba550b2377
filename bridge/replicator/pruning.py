"""What is dropped from an object before it goes to OPA, because no rule reads it and it is large or secret."""

from __future__ import annotations

from typing import Any

from bridge.model.changes import Object

_CRD = "CustomResourceDefinition"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CRD_DEPTH = 8  # property names this deep tell the shape of a policy's spec and status


def prune(obj: Object) -> Object:
    """The object without managedFields and kubectl's last-applied annotation; a Secret keeps names and type alone.

    A CustomResourceDefinition keeps the property names and types of its schemas. What came in is not changed.
    """
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    if _LAST_APPLIED in metadata.get("annotations", ()):
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != _LAST_APPLIED}
    pruned = {**obj, "metadata": metadata}
    if obj["kind"] == "Secret" and obj["apiVersion"] == "v1":
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": obj.get("type", "")}
    if obj["kind"] == _CRD:
        pruned["spec"] = {**obj["spec"], "versions": [_version(version) for version in obj["spec"].get("versions", ())]}
        pruned.pop("status", None)
    return pruned


def _version(version: Object) -> Object:
    schema = version.get("schema", {}).get("openAPIV3Schema", {})
    return {**version, "schema": {"openAPIV3Schema": _skeleton(schema, _CRD_DEPTH)}}


def _skeleton(schema: Any, depth: int) -> Object:
    if not isinstance(schema, dict) or depth == 0:
        return {}
    kept: Object = {"type": schema["type"]} if "type" in schema else {}
    if "properties" in schema:
        kept["properties"] = {name: _skeleton(part, depth - 1) for name, part in schema["properties"].items()}
    if "items" in schema:
        kept["items"] = _skeleton(schema["items"], depth - 1)
    return kept
