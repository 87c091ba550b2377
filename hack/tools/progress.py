"""What an installation reports: its steps on standard error, and its errors.

ToolError (of `bridge.opa.executable`)
├── DownloadError      the release could not be fetched
│   └── ChecksumError  it differs from the published file: never used
└── BuildError         Go is missing, or failed
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bridge.opa.executable import ToolError, say

_BEAT = 20.0  # seconds between two lines


class DownloadError(ToolError):
    """The release could not be fetched."""


class ChecksumError(DownloadError):
    """The fetched file differs from the published one."""


class BuildError(ToolError):
    """Go is missing, or could not build the tool."""


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
