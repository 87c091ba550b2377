"""Processes that stand still."""

import os
import signal
from pathlib import Path

from tests.eventually import eventually_blocking


def freeze(pid: int) -> None:
    """Stop a process until SIGCONT; return once all its threads stand still: on a busy machine that takes 35 ms."""
    os.kill(pid, signal.SIGSTOP)
    eventually_blocking(lambda: set(map(_state, Path(f"/proc/{pid}/task").glob("*/stat"))) <= {"T"}, pause=0.001)


def _state(thread: Path) -> str:
    return thread.read_text().rpartition(")")[2].split()[0]
