"""Progress on standard error; standard output is for figures."""

from __future__ import annotations

import sys
import time

_BEGAN = time.monotonic()


def progress(text: str) -> None:
    """Print a line, with the time since the beginning."""
    print(f"soak {time.monotonic() - _BEGAN:7.1f} s: {text}", file=sys.stderr, flush=True)
