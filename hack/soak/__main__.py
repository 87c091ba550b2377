"""`make soak`: tenants that change their objects, beside a hostile one, on a real control plane.

Figures are a table on standard output, progress is on standard error. The exit code is 1 if a check fails.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from hack.figures import progress
from hack.soak.soak import Failed, soak


def main() -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m hack.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="how long (default: 30)")
    parser.add_argument("--seed", type=int, help="of the changes (default: another one each time)")
    options = parser.parse_args()
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="policy-bridge-soak-"))
    try:
        asyncio.run(soak(options.minutes, seed, folder))
    except KeyboardInterrupt:
        return 130
    except Failed as error:
        progress(f"{error}\nFAILED with seed {seed}; logs are in {folder}")
        return 1
    progress("all is right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
