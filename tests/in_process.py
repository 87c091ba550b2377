"""The command line within the tests' process: a process and an OPA of its own cost each command seconds."""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path

from bridge.cli.main import run_command


def run_with_opa(url: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a read command with the OPA at `url`."""
    words = [*map(str, arguments), "--opa", url]
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
        code = run_command(words)
    return subprocess.CompletedProcess(words, code, output.getvalue(), errors.getvalue())
