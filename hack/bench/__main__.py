"""`make bench`: measure, and print one JSON line for each figure on standard output and progress on standard error."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import traceback

from bridge.telemetry.logs import configure_logs
from hack.bench import (
    admission,
    aims,
    analyzing,
    cluster,
    folder,
    modules,
    opa_alone,
    page,
    placement,
    replication,
    requests,
    size,
    stacks,
    tenants,
    vendors,
    wide,
)
from hack.bench.against import compare
from hack.bench.figures import FIGURES, figure, machine, progress

PARTS = {
    "opa": opa_alone.measure,
    "stacks": stacks.measure,
    "wide": wide.measure,
    "vendors": vendors.measure,
    "requests": requests.measure,
    "analyze": analyzing.measure,
    "folder": folder.measure,
    "cluster": cluster.measure,
    "replication": replication.measure,
    "placement": placement.measure,
    "size": size.measure,
    "admission": admission.measure,
    "modules": modules.measure,
    "page": page.measure,
    "tenants": tenants.measure,
}
ALONE = {"size"}  # parts that are measured only when they are named


def main() -> None:
    """Read the options and measure. Exit code 1 if a part fails; the other parts still print their figures."""
    parser = argparse.ArgumentParser(prog="python -m hack.bench", description=__doc__)
    parser.add_argument("--routes", type=int, default=10_000, help="HTTPRoutes of the load (default: 10000)")
    parser.add_argument(
        "--only", choices=sorted(PARTS), action="append", help="measure this part alone; give it again for more parts"
    )
    parser.add_argument(
        "--against", metavar="COMMIT", help="measure each part at this commit too, and print the ratios"
    )
    options = parser.parse_args()
    parts = [name for name in PARTS if (name in options.only if options.only else name not in ALONE)]
    if options.against:
        sys.exit(compare(options.against, parts, options.routes))
    configure_logs("warning", "console")  # on standard error; standard output is for figures alone
    about = machine()
    figure("machine", about.pop("cores"), "cores", **about)
    failed = []
    for name in parts:
        progress(f"part {name}, {options.routes:,} routes")
        began = time.perf_counter()
        try:
            asyncio.run(PARTS[name](options.routes))
        except Exception:  # noqa: BLE001 - the other parts have figures of their own
            traceback.print_exc()
            failed.append(name)
        figure("part_took", time.perf_counter() - began, "s", part=name, failed=name in failed)
    aims.report(FIGURES, whole=not options.only)
    if failed:
        sys.exit(f"bench: failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
