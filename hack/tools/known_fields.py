"""Write bridge/sources/known_fields.json: the field names of Gateway API's and vendors' kinds, from their CRDs.

python -m hack.tools.known_fields

The CRDs come from the Go modules of `hack.tools.crds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from bridge.sources import known_fields
from hack.tools.crds import GATEWAY_API_VERSION, VENDORS, crds_of, ensure_crds

PATH = Path(known_fields.__file__).with_name(known_fields.FILE)


def render() -> str:
    """Return the file's content: one line for each kind, which shows the changes of a new release."""
    kinds = {
        type_id: known_fields.Released(release, fields)
        for release, crd in _crds()
        for type_id, fields in known_fields.fields_of(crd)
    }
    lines = (f"{_json(type_id)}: {_json(kind)}" for type_id, kind in sorted(kinds.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _crds() -> Iterator[tuple[str, dict[str, Any]]]:
    # The experimental channel has every kind, and every field of the standard one.
    for file in sorted((ensure_crds() / "experimental").glob("*.yaml")):
        for crd in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            yield f"Gateway API v{GATEWAY_API_VERSION}", crd
    for vendor in VENDORS:
        for crd in crds_of(vendor).values():
            yield f"{vendor.title} {vendor.version}", crd


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
