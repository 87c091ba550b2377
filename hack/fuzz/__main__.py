"""`make fuzz`: send malformed and well-formed requests to a real bridge; exit code 1 for a wrong response."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys

from hack.fuzz.fuzzing import fuzz


def main() -> int:
    """Run the fuzzer with the given arguments."""
    parser = argparse.ArgumentParser(prog="python -m hack.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None, help="a run's own, which it prints; else another each time")
    given = parser.parse_args()
    seed = secrets.randbelow(1 << 32) if given.seed is None else given.seed
    print(f"fuzz: seed {seed}, {given.requests} requests", flush=True)
    report = asyncio.run(fuzz(given.requests, seed))
    print(report)
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
