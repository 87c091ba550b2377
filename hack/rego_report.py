"""Read the coverage that `opa test --coverage --format json` prints: `python -m hack.rego_report --threshold 90`.

Only shipped Rego counts; OPA's own threshold would count the lines of the tests, which are always covered. When a test
fails, OPA prints no JSON but what failed: that is passed on.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any


def main() -> int:
    """Print one line, or the uncovered lines. Exit code 1 if tests fail or the coverage is too low."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threshold", type=float, required=True, help="percent")
    threshold = parser.parse_args().threshold
    said = sys.stdin.read()
    try:
        files = json.loads(said)["files"]
    except (ValueError, KeyError):
        print(said.strip() or "opa test printed nothing", file=sys.stderr)
        return 1
    shipped = {name: file for name, file in files.items() if not name.endswith("_test.rego")}
    covered = sum(file.get("covered_lines", 0) for file in shipped.values())
    lines = covered + sum(file.get("not_covered_lines", 0) for file in shipped.values())
    percent = 100 * covered / lines if lines else 0.0
    if percent < threshold:
        print(f"rego: {percent:.1f} % of {lines} lines are covered, {threshold:g} % are wanted:", file=sys.stderr)
        for name, file in sorted(shipped.items()):
            if missing := _missing(file):
                print(f"  {name}: lines {missing}", file=sys.stderr)
        return 1
    print(f"rego: {percent:.1f} % of {lines} lines in {len(shipped)} files are covered")
    return 0


def _missing(file: dict[str, Any]) -> str:
    parts = sorted((part["start"]["row"], part["end"]["row"]) for part in file.get("not_covered", []))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


if __name__ == "__main__":
    sys.exit(main())
