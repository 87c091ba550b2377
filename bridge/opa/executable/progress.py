"""Progress on standard error: one line for each step, and repeated lines while a step takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_BEAT = 20.0  # seconds between two lines


def say(line: str) -> None:
    """Print one line on standard error."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def step(line: str) -> Iterator[None]:
    """Print the beginning of a step, and repeat it with its duration while the block runs."""
    say(line)
    ended = threading.Event()
    started = time.monotonic()

    def beat() -> None:
        while not ended.wait(_BEAT):
            say(f"{line} {time.monotonic() - started:.0f} s")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
