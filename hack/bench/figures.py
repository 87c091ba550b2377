"""Print figures as JSON lines on standard output, and progress on standard error."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FIGURES: list[dict[str, Any]] = []  # all that were printed


def figure(name: str, value: float, unit: str, **more: Any) -> None:
    """Print one figure. `more` has the conditions of the measurement."""
    found = {"figure": name, "value": _short(value), "unit": unit, **_shortened(more)}
    FIGURES.append(found)
    print(json.dumps(found), flush=True)


def progress(text: str) -> None:
    """Print the current step."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print the current step and its duration."""
    began = time.perf_counter()
    yield
    progress(f"{text}: {time.perf_counter() - began:.1f} s")


def percentile(values: Sequence[float], share: float) -> float:
    """Return the percentile for `share` (0 to 1): the nearest measured value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread_of(values: Sequence[float]) -> dict[str, float]:
    """Return the p50, p99 and number of values, as a figure prints them."""
    return {"p50": percentile(values, 0.5), "p99": percentile(values, 0.99), "count": len(values)}


def memory(pid: int) -> float | None:
    """Return the memory of a process in MiB (proportional set size); None without /proc."""
    rollup = Path(f"/proc/{pid}/smaps_rollup")
    if not rollup.exists():
        return None
    for line in rollup.read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return None


def processor_time(pid: int | None) -> float | None:
    """Return the seconds of processor time of a process, which vary less with the load than wall time."""
    return _ticks(pid, 11)


def processor_time_of_children(pid: int | None) -> float | None:
    """Return the seconds of processor time of its terminated children."""
    return _ticks(pid, 13)


def _ticks(pid: int | None, place: int) -> float | None:
    stat = Path(f"/proc/{pid}/stat")
    if pid is None or not stat.exists():
        return None
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[place]) + int(fields[place + 1])) / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> dict[int, str]:
    """Return the descendants of a process with the names of their executables; none without /proc."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = entry.read_text().rpartition(")")
        except OSError:
            continue
        number = int(head.split(" ", 1)[0])
        parents[number] = int(rest.split()[1])
        names[number] = head.partition("(")[2]
    found: dict[int, str] = {}
    for number in parents:
        above = number
        while above in parents and above != pid:
            above = parents[above]
        if above == pid and number != pid:
            found[number] = names[number]
    return found


def opa_below(pid: int | None, others: Collection[int] = ()) -> int | None:
    """Return the process id of an OPA below a process, and not one of `others`; None if there is none, or no /proc."""
    found = descendants(pid).items() if pid else ()
    return next((number for number, name in found if name == "opa" and number not in others), None)


def machine() -> dict[str, Any]:
    """Return the machine of the figures, and its load before the run."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cores": os.cpu_count(), "memory_gib": round(pages / 2**30), "load_before": round(os.getloadavg()[0], 2)}


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _shortened(more: dict[str, Any]) -> dict[str, Any]:
    return {name: _short(value) if isinstance(value, float) else value for name, value in more.items()}
