"""The defaults of Gateway API's CRDs, and their extraction from the CRDs.

python -m bridge.sources.gateway_api_defaults CRD_DIR

writes gateway_api_defaults.json from CRD_DIR/experimental/*.yaml (the folder `config/crd` of the module
sigs.k8s.io/gateway-api). The experimental channel has every kind, and the same defaults for the standard fields.
"""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import yaml

from bridge.model.keys import Key
from bridge.sources.schema_defaults import defaults_of

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
        sys.exit("usage: python -m bridge.sources.gateway_api_defaults CRD_DIR")
    Path(__file__).with_name(_FILE).write_text(render(extract_defaults(Path(sys.argv[1]))), encoding="utf-8")


if __name__ == "__main__":
    main()
