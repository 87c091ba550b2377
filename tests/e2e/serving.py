"""`pbctl run` as a child process."""

import contextlib
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Serving:
    """The process, and its standard output up to readiness."""

    process: subprocess.Popen[str]
    said: str

    @property
    def url(self) -> str:
        """The bridge's own address."""
        return self._found(r"^Web page: +(http://\S+)")

    @property
    def opa_url(self) -> str:
        """The address of the bridge's own OPA."""
        return self._found(r"^Queries: +(http://[^/]+)/")

    def _found(self, pattern: str) -> str:
        found = re.search(pattern, self.said, re.MULTILINE)
        assert found, self.said
        return found[1]


@contextlib.contextmanager
def bridge_runs(bridge_path: Path, environment: dict[str, str], log: Path, *arguments: str | Path) -> Iterator[Serving]:
    """A bridge with these arguments, whose standard error is added to `log`; it is killed at the end."""
    with log.open("a") as errors:
        process = subprocess.Popen(
            [bridge_path, "run", *arguments], stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
        )
    assert process.stdout is not None
    try:
        said = ""
        for line in process.stdout:
            said += line
            if line.startswith("Ctrl-C"):
                break
        else:
            pytest.fail(f"pbctl run ended: {log.read_text()}", pytrace=False)
        yield Serving(process, said)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def bridge_starts(
    bridge_path: Path, environment: dict[str, str], log: Path, *arguments: str | Path, **more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A bridge with these arguments and further variables, whose standard error is `log`; it is killed at the end."""
    command = [bridge_path, "run", *arguments]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env={**environment, **more}) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def fetch(url: str, body: bytes | None = None, *, token: str = "") -> tuple[int, str]:
    """The status and the text of an answer; 0 and the error without one. With a body it is a POST."""
    request = urllib.request.Request(url, body, {"Authorization": f"Bearer {token}"} if token else {})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:  # noqa: S310 (always http on loopback)
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")
    except OSError as error:
        return 0, str(error)
