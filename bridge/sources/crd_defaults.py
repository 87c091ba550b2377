"""The API server's defaulting for objects with a structural OpenAPI schema, and the defaults of Gateway API's CRDs.

The rules are those of "Defaulting and Nullable" in the documentation of custom resources: a default is set if a field
is missing, or null without being nullable; any other null in a field that is not nullable is removed. Both walk object
and schema together and change the object in place.

    python -m bridge.sources.crd_defaults CRD_DIR

writes gateway_api_defaults.json from CRD_DIR/experimental/*.yaml (the folder `config/crd` of the module
sigs.k8s.io/gateway-api). The experimental channel has every kind, and the same defaults for the standard fields.
"""

from __future__ import annotations

import copy
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from bridge.model.keys import Key

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


_FILE = "gateway_api_defaults.json"


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
    content = resources.files("bridge.sources").joinpath(_FILE).read_bytes()
    return msgspec.json.decode(content, type=GatewayApiDefaults)


def extract_defaults(crd_dir: Path, channel: str = "experimental") -> GatewayApiDefaults:
    """Return the defaults of one channel of the CRDs in a folder `config/crd`.

    Raises ValueError if two served versions of a kind have different defaults, which the file cannot represent, or if
    there are no CRDs.
    """
    release = ""
    kinds = {}
    for file in sorted((crd_dir / channel).glob("*.yaml")):
        for crd in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if not crd or crd.get("kind") != "CustomResourceDefinition":
                continue
            release = crd["metadata"]["annotations"]["gateway.networking.k8s.io/bundle-version"]
            spec = crd["spec"]
            served = {version["name"]: _schema_of(version) for version in spec["versions"] if version["served"]}
            first, *rest = served.values()
            type_id = Key(spec["group"], spec["names"]["kind"], "", "").type_id
            if any(schema != first for schema in rest):
                raise ValueError(f"the served versions of {type_id} differ in their defaults")
            kinds[type_id] = KindDefaults(spec["scope"] == "Namespaced", tuple(served), first)
    if not kinds:
        raise ValueError(f"there are no CRDs in {crd_dir / channel}")
    return GatewayApiDefaults(release, kinds)


def render(defaults: GatewayApiDefaults) -> str:
    """Return the text of the file: one line for each kind, which shows the changes of a new release."""
    kinds = ",\n".join(f"  {_json(type_id)}: {_json(kind)}" for type_id, kind in sorted(defaults.kinds.items()))
    return f'{{"release": {_json(defaults.release)}, "kinds": {{\n{kinds}\n}}}}\n'


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _schema_of(version: dict[str, Any]) -> dict[str, Any]:
    return defaults_of(version["schema"]["openAPIV3Schema"])


def main() -> None:
    """Write the file from the folder on the command line."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m bridge.sources.crd_defaults CRD_DIR")
    Path(__file__).with_name(_FILE).write_text(render(extract_defaults(Path(sys.argv[1]))), encoding="utf-8")


if __name__ == "__main__":
    main()
