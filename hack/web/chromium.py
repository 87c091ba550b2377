"""Find a Chromium for the tests of the page: on PATH, playwright's own, or Debian's package.

`python -m hack.web.chromium` prints the available one, and installs Debian's if possible (root, apt). Without one,
it says in one line how to get one, and the tests of the page are skipped with that line; with BRIDGE_CHROMIUM=required,
as continuous integration sets it, that is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIRED = os.environ.get("BRIDGE_CHROMIUM") == "required"
HOW = f"no Chromium: `{sys.executable} -m playwright install chromium` gets one, or your system's package manager"
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_PATIENCE = 900  # seconds that apt may take


def find() -> Path | None:
    """Return the executable, if it is installed."""
    for name in _NAMES:
        if path := shutil.which(name):
            return Path(path)
    return max(_of_playwright(), default=None)


def ensure() -> Path | None:
    """Return the executable; install Debian's package if it is missing and that is possible."""
    return find() or (find() if _install() else None)


def _of_playwright() -> list[Path]:
    """Return the Chromium of `playwright install chromium`, of any version."""
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    folders = (
        [Path(named)] if named else [Path.home() / ".cache/ms-playwright", Path.home() / "Library/Caches/ms-playwright"]
    )
    patterns = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*")
    return [
        path for folder in folders for pattern in patterns for path in folder.glob(pattern) if os.access(path, os.X_OK)
    ]


def _install() -> bool:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
    for command in (["apt-get", "update"], install):
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            sys.stderr.write(f"chromium: {' '.join(command)}: {error}\n")
            return False
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            sys.stderr.write(f"chromium: {' '.join(command)} ended with {done.returncode}: {''.join(last)}\n")
            if command is install:
                return False
    return True


def main() -> int:
    """Print its path."""
    path = ensure()
    sys.stderr.write(f"chromium: {path}\n" if path else f"{HOW}; the tests of the page are skipped\n")
    return 1 if path is None and REQUIRED else 0


if __name__ == "__main__":
    sys.exit(main())
