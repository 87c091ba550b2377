"""The command line within the tests' process: a process and an OPA of its own cost each command seconds."""

import contextlib
import gc
import io
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

from bridge.cli.main import run_command
from bridge.offline import engine
from tests.warm_opa import WarmOpa, whole_bundle


def run_with_opa(url: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a read command with the OPA at `url`."""
    output, errors = io.StringIO(), io.StringIO()
    words = [*map(str, arguments), "--opa", url]
    code = _run(words, "", output, errors)
    return subprocess.CompletedProcess(words, code, output.getvalue(), errors.getvalue())


def run_warm(
    *arguments: str | Path, text: str = "", environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command with `text` on standard input; in place of an OPA that it starts it gets one that runs.

    That one has all of the shipped Rego, not only what the command's queries reach.
    """
    output, errors = io.StringIO(), io.StringIO()
    words = [*map(str, arguments)]
    with _warm(environment):
        code = _run(words, text, output, errors)
    return subprocess.CompletedProcess(words, code, output.getvalue(), errors.getvalue())


def run_warm_at_a_terminal(words: Sequence[str], environment: Mapping[str, str], columns: int, folder: Path) -> str:
    """Do the same in a folder: output and errors as a terminal of `columns` without colors shows them."""
    screen = _Screen()
    with _warm({**environment, "COLUMNS": str(columns), "NO_COLOR": "1"}), contextlib.chdir(folder):
        _run(words, "", screen, screen)
    return screen.getvalue()


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def _warm(environment: Mapping[str, str]) -> Iterator[None]:
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(engine, "ManagedOpa", WarmOpa),
        mock.patch.object(engine, "_bundle_without_rego", return_value=whole_bundle()),
    ):
        yield


def _run(words: Sequence[str], text: str, output: io.StringIO, errors: io.StringIO) -> int:
    with (
        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()))),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        ThreadPoolExecutor(1) as thread,  # a test may have a loop at work in its own
    ):
        code = thread.submit(run_command, words).result()
    gc.unfreeze()  # a second command would begin with a collection of everything
    return code
