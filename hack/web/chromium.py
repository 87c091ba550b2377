"""Find a Chromium for the tests of the page: on PATH, playwright's own, or Debian's package.

`python -m hack.web.chromium` prints the available one, and installs Debian's if possible (root, apt). Without one,
it says in one line how to get one, and the tests of the page are skipped with that line; with BRIDGE_CHROMIUM=required,
as continuous integration sets it, that is an error.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIRED = os.environ.get("BRIDGE_CHROMIUM") == "required"
HOW = f"no Chromium: `{sys.executable} -m playwright install chromium` gets one, or your system's package manager"
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_OF_PLAYWRIGHT = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*")
_INSTALL = "apt-get update; apt-get install --yes --no-install-recommends chromium fonts-dejavu-core"


def find() -> Path | None:
    """Return the executable, if it is installed."""
    for name in _NAMES:
        if path := shutil.which(name):
            return Path(path)
    folders = [Path.home() / ".cache/ms-playwright", Path.home() / "Library/Caches/ms-playwright"]
    if named := os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        folders = [Path(named)]
    found = [path for folder in folders for pattern in _OF_PLAYWRIGHT for path in folder.glob(pattern)]
    return max((path for path in found if os.access(path, os.X_OK)), default=None)


def ensure() -> Path | None:
    """Return the executable; install Debian's package if it is missing and that is possible."""
    found = find()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["/bin/sh", "-c", _INSTALL], env=environment, stdout=subprocess.DEVNULL, check=False)
        found = find()
    return found


def main() -> int:
    """Print its path."""
    path = ensure()
    sys.stderr.write(f"chromium: {path}\n" if path else f"{HOW}; the tests of the page are skipped\n")
    return 1 if path is None and REQUIRED else 0


if __name__ == "__main__":
    sys.exit(main())
