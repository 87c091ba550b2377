"""`python -m hack.web.vendoring`: download the page's vendored modules from npm at their pinned versions.

The manifest has for each package its version, the integrity of its archive as npm knows it, and for each file that is
taken its name here and its sha512.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).resolve().parents[2] / "bridge" / "web" / "static" / "vendor"
MANIFEST = VENDOR / "manifest.json"


def manifest() -> list[dict[str, Any]]:
    """Return the vendored packages."""
    packages: list[dict[str, Any]] = json.loads(MANIFEST.read_text())
    return packages


def digest(content: bytes) -> str:
    """Return the digest in npm's form, `sha512-<base64>`."""
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def fetch(package: dict[str, Any], folder: Path) -> Path:
    """Download a package's archive with npm. Raises CalledProcessError, and ValueError if the integrity differs."""
    packed = subprocess.run(
        ["npm", "pack", "--json", f"{package['name']}@{package['version']}"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    filename: str = json.loads(packed.stdout)[0]["filename"]
    archive = folder / filename
    found = digest(archive.read_bytes())
    if package.get("integrity") not in {None, found}:
        raise ValueError(f"{package['name']}@{package['version']}: npm gives {found}, pinned is {package['integrity']}")
    package["integrity"] = found
    return archive


def take(package: dict[str, Any], archive: Path) -> None:
    """Write the files of a package, and their digests into its entry."""
    with tarfile.open(archive) as opened:
        for file in package["files"]:
            member = opened.extractfile(f"package/{file['from']}")
            if member is None:
                raise ValueError(f"{package['name']} has no file {file['from']}")
            content = member.read()
            (VENDOR / file["to"]).write_bytes(content)
            file["sha512"] = digest(content)


def main() -> int:
    """Download all packages. After a change of a version, remove its integrity from the manifest by hand first."""
    packages = manifest()
    with tempfile.TemporaryDirectory() as folder:
        for package in packages:
            take(package, fetch(package, Path(folder)))
            sys.stderr.write(f"vendor: {package['name']} {package['version']}\n")
    MANIFEST.write_text(json.dumps(packages, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
