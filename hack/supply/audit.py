"""Known vulnerabilities of the packages in requirements.lock, if their data is available."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from bridge.opa.executable import say

LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"
_PATIENCE = 600.0  # seconds for all packages


def audit(lock: Path = LOCK, *more: str) -> int:
    """Print known vulnerabilities of the locked packages: 1 if there are any, 0 without findings or data."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--require-hashes", "--disable-pip"]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "15", *more]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        say(f"audit: skipped: the data did not arrive within {_PATIENCE:g} s")
        return 0
    try:
        found: list[dict[str, Any]] = msgspec.json.decode(answer.stdout)["dependencies"]
    except (msgspec.DecodeError, KeyError, TypeError):
        said = answer.stderr.strip().splitlines()
        say(f"audit: skipped: the data is not available ({said[-1] if said else 'no answer'})")
        return 0
    return report(found)


def report(found: list[dict[str, Any]]) -> int:
    """Print a line for each vulnerability; return 1 if there is one."""
    flawed = 0
    for package in found:
        for flaw in package.get("vulns", ()):
            fixed = ", ".join(flaw.get("fix_versions", ())) or "no version yet"
            say(f"audit: {package['name']} {package['version']}: {flaw['id']}; fixed in {fixed}")
            flawed += 1
    say(f"audit: {len(found)} packages, {flawed} known vulnerabilities")
    return 1 if flawed else 0
