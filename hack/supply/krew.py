"""The kubectl plugin `bridge` as krew installs it: an archive, and the manifest that names it.

https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from bridge import __version__
from hack.supply.archive import write_archive
from hack.supply.materials import ROOT

MANIFEST = "bridge.yaml"  # krew wants the plugin's name
LAUNCHER = "kubectl-bridge"
KREW = ROOT / "deploy" / "krew"


def plugin_archive(folder: Path, wheel: Path, requirements: Path) -> Path:
    """Write the archive: the launcher, the wheel, and the packages that it needs, with their hashes."""
    files = {
        LAUNCHER: (KREW / LAUNCHER).read_bytes(),
        "requirements.txt": requirements.read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        wheel.name: wheel.read_bytes(),
    }
    target = folder / f"{LAUNCHER}-{__version__}.tar.gz"
    write_archive(target, files, executable=[LAUNCHER])
    return target


def plugin_manifest(archive: Path, repository: str) -> str:
    """Return the manifest for an archive in the GitHub release of this version."""
    text = (KREW / f"{MANIFEST}.template").read_text(encoding="utf-8")
    values = {
        "VERSION": __version__,
        "REPOSITORY": repository,
        "ARCHIVE": archive.name,
        "SHA256": hashlib.sha256(archive.read_bytes()).hexdigest(),
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
