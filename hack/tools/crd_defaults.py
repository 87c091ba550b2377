"""Defaults of Gateway API's CRDs for folders of manifests.

    python -m hack.tools.crd_defaults CRD_DIR

writes bridge/sources/gateway_api_defaults.json from CRD_DIR/experimental/*.yaml (the folder `config/crd` of the module
sigs.k8s.io/gateway-api). The experimental channel has every kind, and the same defaults for the standard fields.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from bridge.model.keys import Key
from bridge.sources import defaults
from bridge.sources.defaults import FILE, GatewayApiDefaults, KindDefaults, mapping_of

if TYPE_CHECKING:
    from bridge.sources.defaults import Schema


def defaults_of(schema: Schema) -> dict[str, Any]:
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
        sys.exit("usage: python -m hack.tools.crd_defaults CRD_DIR")
    text = render(extract_defaults(Path(sys.argv[1])))
    Path(defaults.__file__).with_name(FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
