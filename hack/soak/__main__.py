"""`make soak`: random changes and kills, then a hostile tenant next to a well-behaved one, on a real control plane.

Figures are tables on standard output, progress is on standard error. The exit code is 1 if a check fails.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from bridge.telemetry.logs import configure_logs
from hack.figures import progress
from hack.soak.hostile import ACTS
from hack.soak.soak import Different, Failed, soak
from hack.soak.tenants import soak_tenants

PARTS: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {"faults": soak, "tenants": soak_tenants}


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m hack.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="how long (default: 30)")
    parser.add_argument("--seed", type=int, help="of the changes and faults (default: another one each time)")
    parser.add_argument("--only", choices=PARTS, help="one part (default: one after the other, each so long)")
    parser.add_argument("--acts", nargs="+", choices=ACTS, default=ACTS, help="of the hostile tenant (default: all)")
    options = parser.parse_args()
    configure_logs("warning", "console")
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="policy-bridge-soak-"))
    try:
        for name in [options.only] if options.only else PARTS:
            (folder / name).mkdir()
            more = {"acts": options.acts} if name == "tenants" else {}
            asyncio.run(PARTS[name](options.minutes, seed, folder / name, **more))
    except KeyboardInterrupt:
        progress("stopped; nothing of it runs any more")
        sys.exit(130)
    except (Different, Failed, ExceptionGroup) as error:
        for one in error.exceptions if isinstance(error, ExceptionGroup) else [error]:
            progress(f"{type(one).__name__}: {one}")
        progress(f"FAILED with seed {seed}; logs are in {folder}")
        sys.exit(1)
    progress("all is right")


if __name__ == "__main__":
    main()
