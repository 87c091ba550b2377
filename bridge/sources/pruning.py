"""Fields that OPA must not have, secret ones and large ones that no rule reads: sources remove them from objects."""

from collections.abc import Sequence
from typing import Any

from bridge.model.changes import Object
from bridge.model.keys import segments_of
from bridge.model.nesting import parse_field
from bridge.model.types import Fields

_CRD = "CustomResourceDefinition"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# The fields that discovery reads besides the names, and those that complete a manifest in a comparison with a cluster.
_CRD_KEEPS = ("type", "enum", "x-kubernetes-preserve-unknown-fields", "default", "nullable")
_TARGET_FIELDS = ("targetRef", "targetRefs", "targetReference")
_RULES = "x-kubernetes-validations"
_CRD_DEPTH = 8  # property names up to this depth show the form of a policy's spec and status; below it defaults count


def prune(obj: Object) -> Object:
    """Return the object without managedFields and the last-applied annotation; a Secret keeps only names and type.

    The schemas of a CustomResourceDefinition keep only property names, the fields in `_CRD_KEEPS`, and the rules of the
    spec and its target refs. The input is not changed.
    """
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != _LAST_APPLIED}
    if obj["kind"] == "Secret" and obj["apiVersion"] == "v1":
        metadata.pop("annotations", None)  # other tools than kubectl also store there what they have applied
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": parse_field(obj.get("type", ""))}
    pruned = {**obj, "metadata": metadata}
    if obj["kind"] == _CRD:
        pruned["spec"] = _prune_crd_spec(parse_field(obj.get("spec")))
        pruned.pop("status", None)
    return pruned


def _prune_crd_spec(spec: Any) -> Any:
    if not isinstance(spec, dict) or not isinstance(spec.get("versions"), list):
        return spec
    return {**spec, "versions": [_prune_version(version) for version in spec["versions"]]}


def _prune_version(version: Any) -> Any:
    if not isinstance(version, dict):
        return version
    schema = version.get("schema")
    whole = schema.get("openAPIV3Schema") if isinstance(schema, dict) else None
    kept = _cut_schema(whole, _CRD_DEPTH)
    if spec := _properties(whole).get("spec"):
        _keep_rules(kept["properties"]["spec"], spec)
    return {**version, "schema": {"openAPIV3Schema": kept}}


def _keep_rules(kept: Object, spec: Any) -> None:
    """Keep the rules and alternatives of the spec as a whole, and all rules about its target refs."""
    kept |= _rules_of(spec)
    if isinstance(spec, dict) and isinstance(alternatives := spec.get("oneOf"), list):
        kept["oneOf"] = [
            {"required": one["required"]} for one in alternatives if isinstance(one, dict) and "required" in one
        ]
    for name in _TARGET_FIELDS:
        if ref := _properties(spec).get(name):
            _keep_rules_below(kept["properties"][name], ref)


def _keep_rules_below(kept: Object, schema: Any) -> None:
    kept |= _rules_of(schema)
    for name, part in _properties(kept).items():  # which end at a depth
        _keep_rules_below(part, schema["properties"][name])
    if "items" in kept:
        _keep_rules_below(kept["items"], schema["items"])


def _rules_of(schema: Any) -> Object:
    rules = schema.get(_RULES) if isinstance(schema, dict) else None
    if not isinstance(rules, list):
        return {}
    return {_RULES: [{"rule": one["rule"]} for one in rules if isinstance(one, dict) and "rule" in one]}


def _properties(schema: Any) -> Object:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _cut_schema(schema: Any, depth: int) -> Object:
    if not isinstance(schema, dict):
        return {}
    kept: Object = {name: schema[name] for name in _CRD_KEEPS if name in schema and (depth > 0 or name == "default")}
    if isinstance(properties := schema.get("properties"), dict):
        parts = {name: _cut_schema(part, depth - 1) for name, part in properties.items()}
        if depth > 0 or (parts := {name: part for name, part in parts.items() if part}):
            kept["properties"] = parts
    items = _cut_schema(schema.get("items"), depth - 1)
    if items or ("items" in schema and depth > 0):
        kept["items"] = items
    if others := _cut_schema(schema.get("additionalProperties"), 0):  # their names show no form
        kept["additionalProperties"] = others
    return kept


def choose(obj: Object, fields: Fields) -> Object:
    """Return an object with only its wanted fields, without changing the input."""
    if fields.keep is not None:
        kept: Object = {name: obj[name] for name in ("apiVersion", "kind", "metadata")}
        for path in fields.keep:
            found = _read_path(obj, segments_of(path))
            if found is not None:
                kept = _set_path(kept, segments_of(path), found)
        return kept
    for path in fields.drop or ():
        obj = _remove_path(obj, segments_of(path))
    return obj


def _read_path(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        mapping = parse_field(value)
        value = mapping.get(name) if isinstance(mapping, dict) else None
    return value


def _set_path(obj: Object, path: Sequence[str], value: Any) -> Object:
    name, *rest = path
    below = parse_field(obj.get(name))
    return {**obj, name: _set_path(below if isinstance(below, dict) else {}, rest, value) if rest else value}


def _remove_path(obj: Object, path: Sequence[str]) -> Object:
    name, *rest = path
    if name not in obj:
        return obj
    if not rest:
        return {other: value for other, value in obj.items() if other != name}
    below = parse_field(obj[name])
    return {**obj, name: _remove_path(below, rest)} if isinstance(below, dict) else obj
