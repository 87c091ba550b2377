"""`make sbom`, `make audit` and `make release`: a release's components, their known vulnerabilities, its files."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from bridge.opa.executable import say
from hack.supply.audit import audit
from hack.supply.materials import ROOT, base_image, flaws, image_materials, wheel_materials
from hack.supply.release import release

OUTPUT = ROOT / ".make" / "sbom"


def sbom() -> int:
    """Write both bills of materials; return 1 if one does not match CycloneDX's schema."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        (wheel,) = Path(folder).glob("*.whl")
        documents = {"wheel.cdx.json": wheel_materials(wheel), "image.cdx.json": image_materials(base_image())}
    for name, document in documents.items():
        if flaw := flaws(document):
            say(f"sbom: {name} is not CycloneDX: {flaw}")
            return 1
        (OUTPUT / name).write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        say(f"sbom: {OUTPUT / name}, {len(document['components'])} components")
    return 0


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    sys.exit(release(arguments) if command == "release" else {"sbom": sbom, "audit": audit}[command]())
