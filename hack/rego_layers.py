"""Check the structure of the shipped Rego without its tests: `python -m hack.rego_layers rego`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hack.tools import ensure

CHECK = Path(__file__).with_suffix(".rego")


def main() -> int:
    """Print one line for each violation; exit code 1 if there is one."""
    found = violations(Path(sys.argv[1]))
    for violation in found:
        print(violation, file=sys.stderr)
    return 1 if found else 0


def violations(folder: Path) -> list[str]:
    """Return the violations in the Rego files below `folder`, sorted: `FILE: what`, the file relative to the folder."""
    files = sorted(file for file in folder.rglob("*.rego") if not file.name.endswith("_test.rego"))
    found: list[str] = query("violations", {str(file.relative_to(folder)): file.read_text() for file in files})
    return sorted(found)


def query(rule: str, sources: dict[str, str]) -> Any:
    """Return a rule of rego_layers.rego for sources by their file's name."""
    command = [str(ensure("opa").path), "eval", "--format", "raw", "--stdin-input", "--data", str(CHECK)]
    command.append(f"data.hack.rego_layers.{rule}")
    done = subprocess.run(command, input=json.dumps(sources), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip() or done.stdout.strip())
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
