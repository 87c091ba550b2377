"""npm: install a tool by its lock file."""

import shutil
import subprocess
from pathlib import Path

from bridge.opa.executable import say
from hack.tools.building import BuildError
from hack.tools.catalog import Tool

_LAST_LINES = 12  # of npm's output when it fails


def install_package(tool: Tool, folder: Path) -> None:
    """Install a package with all that it needs into `folder`, where the executable of the tool's name starts it.

    npm compares each package with its sum in the lock file, and runs no scripts of packages. Raises BuildError.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise BuildError("no Node.js with npm on PATH to install it")
    say(f"{tool.name}: installing {tool.version} with npm")
    locks = Path(__file__).parent / tool.npm.partition("/")[0]
    for file in ("package.json", "package-lock.json"):
        shutil.copy(locks / file, folder)
    command = [npm, "ci", "--engine-strict", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise BuildError("`npm ci` failed:\n  " + "\n  ".join(answer.stderr.splitlines()[-_LAST_LINES:]))
    start = folder / tool.name
    start.write_text(f'#!/bin/sh\nexec node "$(dirname "$0")/node_modules/{tool.npm}" "$@"\n', encoding="utf-8")
    start.chmod(0o755)
