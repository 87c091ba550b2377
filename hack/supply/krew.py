"""The kubectl plugin `bridge` as krew installs it: an archive, and the manifest that names it.

https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import yaml

from bridge import __version__
from hack.supply.archive import write_archive
from hack.supply.materials import ROOT

MANIFEST = "bridge.yaml"  # krew wants the plugin's name
LAUNCHER = "kubectl-bridge"
_DESCRIPTION = """\
Shows which policies apply to a Gateway, route, rule or Service, where each
field of the effective policy comes from, and what a change would do. It
works on the cluster that kubectl uses, without anything installed there,
and on folders of manifests.

  kubectl bridge effective httproute cart -n shop
  kubectl bridge explain httproute/cart#checkout -n shop
  kubectl bridge analyze -f change.yaml
"""
_CAVEATS = """\
The plugin needs Python 3.11 or newer. On first use it installs its Python
packages, each checked by its SHA-256, and the official release of OPA,
unless there is an `opa` on PATH.
"""


def plugin_archive(folder: Path, wheel: Path, requirements: Path) -> Path:
    """Write the archive: the launcher, the wheel, and the packages that it needs, with their hashes."""
    files = {
        LAUNCHER: (ROOT / "deploy" / "krew" / LAUNCHER).read_bytes(),
        "requirements.txt": requirements.read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        wheel.name: wheel.read_bytes(),
    }
    target = folder / f"{LAUNCHER}-{__version__}.tar.gz"
    write_archive(target, files, executable=[LAUNCHER])
    return target


def plugin_manifest(archive: Path, repository: str) -> str:
    """Return the manifest for an archive in the GitHub release of this version."""
    page = f"https://github.com/{repository}"
    plugin = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": MANIFEST.removesuffix(".yaml")},
        "spec": {
            "version": f"v{__version__}",
            "homepage": page,
            "shortDescription": "Show effective Gateway API policies and why",
            "description": _DESCRIPTION,
            "caveats": _CAVEATS,
            "platforms": [
                {
                    "selector": {"matchExpressions": [{"key": "os", "operator": "In", "values": ["darwin", "linux"]}]},
                    "uri": f"{page}/releases/download/v{__version__}/{archive.name}",
                    "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
                    "bin": LAUNCHER,
                }
            ],
        },
    }
    return yaml.safe_dump(plugin, sort_keys=False)
