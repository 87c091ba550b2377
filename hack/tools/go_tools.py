"""Commands of other projects for tests, which Go builds from the module proxy and the tools' cache keeps."""

from __future__ import annotations

from pathlib import Path

from bridge.opa.executable import cache_root, locked
from hack.tools.building import find_go, run_go


def go_command(package: str, version: str) -> Path:
    """Return the executable of a package's command at a version. The first build takes a minute or more."""
    name = package.rsplit("/", 1)[-1]
    folder = cache_root() / "tests" / f"{name}-{version}"
    with locked(f"test-{name}"):
        if not (folder / name).exists():
            folder.mkdir(parents=True, exist_ok=True)
            run_go(find_go(), ["install", f"{package}@{version}"], folder, GOBIN=str(folder))
    return folder / name
