"""Fields of CRDs, for commands on a folder of manifests: `python -m hack.tools.fields`.

Writes gateway_api_defaults.json, known_fields.json and schemas.json in bridge/sources, with a line for each kind of
Gateway API and of vendors. The experimental channel has every kind, and the fields and defaults of the standard one.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridge.model.keys import Key
from bridge.sources import defaults, known_fields, schemas, shipped_schemas
from bridge.sources.defaults import KindDefaults, ShippedDefaults, mapping_of
from hack.tools import quick_yaml
from hack.tools.vendor_crds import GATEWAY_API_VERSION, VENDORS, crds_of, ensure_crds

DEFAULTS = Path(defaults.__file__).with_name(defaults.FILE)
KNOWN_FIELDS = Path(known_fields.__file__).with_name(known_fields.FILE)
SCHEMAS = Path(shipped_schemas.__file__).with_name(shipped_schemas.FILE)


def defaults_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a schema that `set_defaults` needs, empty without defaults."""
    kept: dict[str, Any] = {}
    if "default" in schema:
        kept["default"] = schema["default"]
    properties = {
        name: part
        for name, field in mapping_of(schema, "properties").items()
        if isinstance(field, dict) and (part := defaults_of(field))
    }
    if properties:
        kept["properties"] = properties
    for name in ("items", "additionalProperties"):
        if (inner := mapping_of(schema, name)) and (part := defaults_of(inner)):
            kept[name] = part
    if kept and schema.get("nullable"):
        kept["nullable"] = True
    return kept


def extract_defaults(crd_dir: Path, channel: str = "experimental") -> ShippedDefaults:
    """Return the defaults of one channel of Gateway API's CRDs, and of vendors' kinds that need any, or no namespace.

    Raises ValueError if two served versions of a kind have different defaults, which the file cannot represent.
    """
    vendors = _defaults_by_kind(crd for vendor in VENDORS for crd in crds_of(vendor).values())
    needed = {type_id: kind for type_id, kind in vendors.items() if kind.schema or not kind.namespaced}
    return ShippedDefaults(_defaults_by_kind(_crds_in(crd_dir / channel)), needed)


def _defaults_by_kind(crds: Iterable[Mapping[str, Any]]) -> dict[str, KindDefaults]:
    kinds = {}
    for spec in (crd["spec"] for crd in crds):
        first, *rest = (defaults_of(one["schema"]["openAPIV3Schema"]) for one in spec["versions"] if one["served"])
        type_id = Key(spec["group"], spec["names"]["kind"], "", "").type_id
        if any(schema != first for schema in rest):
            raise ValueError(f"the served versions of {type_id} differ in their defaults")
        kinds[type_id] = KindDefaults(spec["scope"] == "Namespaced", first)
    return kinds


def render_defaults(found: ShippedDefaults) -> str:
    """Return the text of the file with defaults."""
    return f'{{"kinds": {_lines(found.kinds)}, "vendors": {_lines(found.vendors)}}}\n'


def render_known_fields() -> str:
    """Return the text of the file with field names."""
    crds = [(f"Gateway API v{GATEWAY_API_VERSION}", crd) for crd in _crds_in(ensure_crds() / "experimental")]
    crds += [(f"{vendor.title} {vendor.version}", crd) for vendor in VENDORS for crd in crds_of(vendor).values()]
    kinds = {
        type_id: known_fields.Released(release, fields)
        for release, crd in crds
        for type_id, fields in known_fields.fields_of(crd)
    }
    return f"{_lines(kinds)}\n"


def render_schemas() -> str:
    """Return the text of the file with schemas. A version with the schema of another one has its name instead."""
    crds = [*_crds_in(ensure_crds() / "experimental"), *(crd for vendor in VENDORS for crd in crds_of(vendor).values())]
    found: dict[str, Any] = {}
    for type_id, versions in (one for crd in crds for one in schemas.schemas_of(crd)):
        kept: dict[str, Any] = {}
        for version, schema in versions.items():
            whole = schemas.slim(schema)
            whole["properties"] = {name: part for name, part in whole["properties"].items() if name != "status"}
            kept[version] = next((other for other, known in kept.items() if known == whole), whole)
        found[type_id] = kept
    return f"{_lines(found)}\n"


def _crds_in(folder: Path) -> list[dict[str, Any]]:
    return [quick_yaml.load(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.yaml"))]


def _lines(kinds: dict[str, Any]) -> str:
    return "{\n" + ",\n".join(f"  {_json(type_id)}: {_json(kind)}" for type_id, kind in sorted(kinds.items())) + "\n}"


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


if __name__ == "__main__":
    DEFAULTS.write_text(render_defaults(extract_defaults(ensure_crds())), encoding="utf-8")
    KNOWN_FIELDS.write_text(render_known_fields(), encoding="utf-8")
    SCHEMAS.write_text(render_schemas(), encoding="utf-8")
