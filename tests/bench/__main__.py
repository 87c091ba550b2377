"""`make bench`: measure; one JSON line a figure on standard output, progress on standard error."""

from __future__ import annotations

import argparse
import asyncio

from bridge.runtime.logs import configure_logs
from tests.bench import (
    admission,
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
    wide,
)
from tests.bench.figures import figure, machine, progress

PARTS = {
    "opa": opa_alone.measure,
    "stacks": stacks.measure,
    "wide": wide.measure,
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
    """Read the options and measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--routes", type=int, default=10_000, help="HTTPRoutes of the load (default: 10000)")
    parser.add_argument("--only", choices=sorted(PARTS), help="measure this part alone")
    options = parser.parse_args()
    configure_logs("warning", "console")  # on standard error; standard output is for figures alone
    about = machine()
    figure("machine", about.pop("cores"), "cores", **about)
    for name, measure in PARTS.items():
        if options.only == name or (options.only is None and name not in ALONE):
            progress(f"part {name}, {options.routes:,} routes")
            asyncio.run(measure(options.routes))


if __name__ == "__main__":
    main()
