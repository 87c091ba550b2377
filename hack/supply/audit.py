"""Known vulnerabilities of the packages in both locks, if their data is available."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bridge.opa.executable import say

ROOT = Path(__file__).resolve().parents[2]
LOCKS = (ROOT / "requirements.lock", ROOT / "requirements-dev.lock")


def audit(locks: Sequence[Path] = LOCKS, *more: str) -> int:
    """Print known vulnerabilities of the locked packages: 1 if there are any, 0 without findings or data."""
    command = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip"]
    command += [word for lock in locks for word in ("--requirement", str(lock))]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "15", *more]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = msgspec.json.decode(answer.stdout)["dependencies"]
    except msgspec.DecodeError:
        said = answer.stderr.strip().splitlines()
        say(f"audit: skipped: the data is not available ({said[-1] if said else 'no answer'})")
        return 0
    flaws = [(package, flaw) for package in packages for flaw in package.get("vulns", ())]
    for package, flaw in flaws:
        fixed = ", ".join(flaw["fix_versions"]) or "no version yet"
        say(f"audit: {package['name']} {package['version']}: {flaw['id']}; fixed in {fixed}")
    say(f"audit: {len(packages)} packages, {len(flaws)} known vulnerabilities")
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(audit())
