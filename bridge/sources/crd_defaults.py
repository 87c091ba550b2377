"""The API server's defaulting for objects with a structural OpenAPI schema, and the defaults of Gateway API's CRDs.

The rules are those of "Defaulting and Nullable" in the documentation of custom resources: a default is set if a field
is missing, or null without being nullable; any other null in a field that is not nullable is removed. Both walk object
and schema together and change the object in place. `hack.tools.crd_defaults` writes the shipped defaults.
"""

from __future__ import annotations

import copy
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    Schema = Mapping[str, Any]

_NONE: Schema = {}


def set_defaults(value: Any, schema: Schema) -> None:
    """Set the defaults of `schema` in `value`, outermost first: a default may itself get defaults."""
    if not schema:
        return
    if isinstance(value, dict):
        properties = mapping_of(schema, "properties")
        others = mapping_of(schema, "additionalProperties")
        for name in {**properties, **value}:
            field = properties.get(name, others)
            if isinstance(field, dict):
                if "default" in field and _is_unset(value, name, field):
                    value[name] = copy.deepcopy(field["default"])
                if name in value:
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
    """The CRD of one kind: its scope, its served versions, and their common defaults."""

    namespaced: bool
    versions: tuple[str, ...]
    schema: dict[str, Any]


class GatewayApiDefaults(msgspec.Struct, frozen=True):
    """`release` is Gateway API's (`v1.7.0`); `kinds` is by `<group>/<Kind>`."""

    release: str
    kinds: dict[str, KindDefaults]


def load_defaults() -> GatewayApiDefaults:
    """Return the shipped defaults."""
    content = resources.files("bridge.sources").joinpath(FILE).read_bytes()
    return msgspec.json.decode(content, type=GatewayApiDefaults)
