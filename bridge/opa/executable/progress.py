"""What is going on, on standard error: one line a step, and a sign of life while a step takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_BEAT = 20.0  # seconds between two signs of life


def say(line: str) -> None:
    """One line on standard error."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def step(line: str) -> Iterator[None]:
    """Say what begins, and while the block lasts repeat it with the seconds that it has taken."""
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
