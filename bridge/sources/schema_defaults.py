"""The API server's defaulting and null handling for objects with a structural OpenAPI schema.

The rules are those of "Defaulting and Nullable" in the documentation of custom resources: a default is set if a field
is missing, or null without being nullable; any other null in a field that is not nullable is removed. Both walk object
and schema together and change the object in place.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    Schema = Mapping[str, Any]

_NONE: Schema = {}


def set_defaults(value: Any, schema: Schema) -> None:
    """Set the defaults of `schema` in `value`, outermost first: a default may itself get defaults."""
    if not schema:
        return
    if isinstance(value, dict):
        properties = _mapping(schema, "properties")
        others = _mapping(schema, "additionalProperties")
        for name in {**properties, **value}:
            field = properties.get(name, others)
            if isinstance(field, dict):
                if "default" in field and _is_unset(value, name, field):
                    value[name] = copy.deepcopy(field["default"])
                if name in value:
                    set_defaults(value[name], field)
    elif isinstance(value, list):
        items = _mapping(schema, "items")
        for index, item in enumerate(value):
            if item is None and "default" in items and not items.get("nullable"):
                value[index] = copy.deepcopy(items["default"])
            set_defaults(value[index], items)


def drop_nulls(value: Any, schema: Schema) -> None:
    """Remove nulls in fields that `schema` knows and that are not nullable. Nulls in lists stay."""
    if not schema:
        return
    if isinstance(value, dict):
        properties = _mapping(schema, "properties")
        others = _mapping(schema, "additionalProperties")
        for name, item in list(value.items()):
            field = properties.get(name, others)
            if not isinstance(field, dict) or not field:
                continue
            if item is None and not field.get("nullable"):
                del value[name]
            else:
                drop_nulls(item, field)
    elif isinstance(value, list):
        items = _mapping(schema, "items")
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


def defaults_of(schema: Schema) -> dict[str, Any]:
    """Return the part of a schema that `set_defaults` needs, empty without defaults."""
    kept: dict[str, Any] = {}
    if "default" in schema:
        kept["default"] = schema["default"]
    properties = {
        name: part
        for name, field in _mapping(schema, "properties").items()
        if isinstance(field, dict) and (part := defaults_of(field))
    }
    if properties:
        kept["properties"] = properties
    for name in ("items", "additionalProperties"):
        if (inner := _mapping(schema, name)) and (part := defaults_of(inner)):
            kept[name] = part
    if kept and schema.get("nullable"):
        kept["nullable"] = True
    return kept


def _is_unset(value: dict[str, Any], name: str, field: Schema) -> bool:
    return name not in value or (value[name] is None and not field.get("nullable"))


def _mapping(schema: Schema, name: str) -> Schema:
    # A CRD in a folder may have any value here; validating it is the API server's task.
    found = schema.get(name)
    return found if isinstance(found, dict) else _NONE
