"""`python -m hack.web.vendoring`: download the page's vendored modules from npm at their pinned versions.

The manifest has each package's version, and each taken file's name here and its sha512: a changed file changes it.
"""

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


def digest(content: bytes) -> str:
    """Return the digest in npm's form, `sha512-<base64>`."""
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def take(package: dict[str, Any], folder: Path) -> None:
    """Write the files of a package, and their digests into its entry. Raises CalledProcessError and KeyError."""
    command = ["npm", "pack", "--json", f"{package['name']}@{package['version']}"]
    packed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    with tarfile.open(folder / json.loads(packed.stdout)[0]["filename"]) as opened:
        opened.extractall(folder, filter="data")
    for file in package["files"]:
        content = (folder / "package" / file["from"]).read_bytes()
        (VENDOR / file["to"]).write_bytes(content)
        file["sha512"] = digest(content)


def main() -> None:
    """Download all packages."""
    packages: list[dict[str, Any]] = json.loads(MANIFEST.read_text())
    for package in packages:
        with tempfile.TemporaryDirectory() as folder:
            take(package, Path(folder))
        sys.stderr.write(f"vendor: {package['name']} {package['version']}\n")
    MANIFEST.write_text(json.dumps(packages, indent=2) + "\n")


if __name__ == "__main__":
    main()
