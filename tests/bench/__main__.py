"""`make bench`: measure the bridge, and print one table of the figures with their aims.

With `--against COMMIT` the bridge of that commit is measured in the same run, in turn with this one: there, here, here,
there. Both are measured from outside, as processes with the commands, queries and log events that users see.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench import (
    admission,
    expressions,
    first_picture,
    fleet,
    guardrails,
    kube_mgmt,
    proxies,
    shapes,
    starts,
    whole_bridge,
    wide,
)
from tests.bench.table import Figures, printed
from tests.figures import progress
from tests.processes import HERE, ROOT, Program

PARTS: dict[str, Callable[[Program, int, Path], Coroutine[Any, Any, Figures]]] = {
    "starts": starts.measure,
    "expressions": expressions.measure,
    "shapes": shapes.measure,
    "cluster": whole_bridge.measure,
    "kube-mgmt": kube_mgmt.measure,
    "wide": wide.measure,
    "page": first_picture.measure,
    "admission": admission.measure,
    "guardrails": guardrails.measure,
    "fleet": fleet.measure,
    "proxies": proxies.measure,
}


def main() -> int:
    """Read the options and measure. Return 1 if a part fails; the other parts still have their figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--routes", type=int, default=10_000, help="HTTPRoutes of the load (default: %(default)s)")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part; give it again for more")
    parser.add_argument("--against", metavar="COMMIT", help="measure this commit too, in turn")
    parser.add_argument("--rounds", type=int, default=2, help="of turns with --against (default: %(default)s)")
    options = parser.parse_args()
    progress(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.routes:,} routes")
    found: dict[str, list[Figures]] = {"before": [], "now": []}
    failed = False
    with _checkout(options.against) as there:
        programs = {"before": Program(there), "now": HERE} if there else {"now": HERE}
        turns = [("before", "now"), ("now", "before")] * options.rounds if there else [("now",)]
        for part in options.only or PARTS:
            # Counts are the same each time.
            for turn in (turn for pair in turns[: 1 if part == "expressions" else options.rounds] for turn in pair):
                progress(f"part {part}, {turn}")
                try:
                    with tempfile.TemporaryDirectory(prefix="policy-bridge-bench-") as folder:
                        figures = asyncio.run(PARTS[part](programs[turn], options.routes, Path(folder)))
                except Exception:  # noqa: BLE001 - the other parts have figures of their own
                    traceback.print_exc()
                    failed = True
                    continue
                found[turn].append(figures)
    print(printed(found["before"], found["now"]))
    return 1 if failed else 0


@contextmanager
def _checkout(commit: str | None) -> Iterator[Path | None]:
    """Yield a working copy of a commit. Raises CalledProcessError for a commit that does not exist."""
    if commit is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "there"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(there), commit], check=True)
        try:
            yield there
        finally:
            subprocess.run([*git, "remove", "--force", str(there)], check=True)


if __name__ == "__main__":
    sys.exit(main())
