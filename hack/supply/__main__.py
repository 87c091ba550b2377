"""`make sbom`, `make audit` and `make release`: a release's components, their known vulnerabilities, its files."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bridge.opa.executable import say
from hack.supply.audit import audit
from hack.supply.materials import ROOT, base_image, image_materials, wheel_materials, write_document
from hack.supply.release import build_wheel, release

OUTPUT = ROOT / ".make" / "sbom"


def sbom() -> int:
    """Write both bills of materials."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder), "wheel")
        for name, document in {"wheel": wheel_materials(wheel), "image": image_materials(wheel, base_image())}.items():
            write_document(OUTPUT / f"{name}.cdx.json", document)
            say(f"sbom: {OUTPUT / name}.cdx.json, {len(document['components'])} components")
    return 0


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    sys.exit(release(arguments) if command == "release" else {"sbom": sbom, "audit": audit}[command]())
