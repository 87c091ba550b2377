"""The origin of a release's files, as an in-toto statement with SLSA's provenance.

https://slsa.dev/spec/v1.0/provenance

It is not signed: the release workflow has GitHub sign a statement of its own about the same files.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bridge import __version__
from hack.supply.materials import ROOT


def provenance(files: Sequence[Path], repository: str, revision: str) -> dict[str, Any]:
    """Return the statement about files that are built from a commit on GitHub; "" for an unknown commit."""
    page = f"https://github.com/{repository}"
    source = {
        "uri": f"git+{page}@refs/tags/v{__version__}",
        **({"digest": {"gitCommit": revision}} if revision else {}),
    }
    lock = {"uri": "file:requirements.lock", "digest": _sha256(ROOT / "requirements.lock")}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": _sha256(file)} for file in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{page}/blob/v{__version__}/Makefile#release",
                "externalParameters": {"version": __version__, "repository": repository},
                "internalParameters": {"python": platform.python_version()},
                "resolvedDependencies": [source, lock],
            },
            "runDetails": {"builder": {"id": f"{page}/blob/v{__version__}/.github/workflows/release.yml"}},
        },
    }


def _sha256(file: Path) -> dict[str, str]:
    return {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
