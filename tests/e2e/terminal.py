"""The output of a command at a terminal."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path


def at_a_terminal(
    command: Sequence[str | Path],
    environment: dict[str, str],
    columns: int,
    folder: Path | None = None,
    *,
    color: bool = False,
) -> str:
    """Return output and errors of a command at a terminal of `columns`; lines end with a carriage return."""
    chosen = {"TERM": "xterm", "NO_COLOR": ""} if color else {"NO_COLOR": "1"}
    reading, writing = os.openpty()
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env={**environment, "COLUMNS": str(columns), **chosen},
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=writing,
    )
    os.close(writing)
    said = b""
    try:
        while piece := os.read(reading, 65536):
            said += piece
    except OSError:  # the other end of a terminal was closed
        pass
    os.close(reading)
    process.wait(timeout=180)
    return said.decode()
