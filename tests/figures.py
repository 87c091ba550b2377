"""Figures: percentiles, a table for people on standard output, and progress on standard error."""

import sys
import time
from collections.abc import Iterable, Sequence

_BEGAN = time.monotonic()


def percentile(values: Sequence[float], share: float) -> float:
    """Return the percentile for `share` (0 to 1): the nearest measured value that is not above it."""
    return sorted(values)[int(share * (len(values) - 1))]


def short(value: float | None) -> str:
    """Return a value with three digits; `-` for a missing one."""
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table in columns: the first one begins at the left, the others end at the right."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    cells.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    lines = []
    for first, *others in cells:
        aligned = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append(f"| {' | '.join([first.ljust(widths[0]), *aligned])} |")
    return "\n".join(lines)


def progress(text: str) -> None:
    """Print the current step, with the time since the beginning."""
    print(f"{time.monotonic() - _BEGAN:7.1f} s: {text}", file=sys.stderr, flush=True)
