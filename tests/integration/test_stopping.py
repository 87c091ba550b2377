"""However the bridge ends, nothing of it is left."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.eventually import eventually_blocking

SHOP = Path(__file__).parents[2] / "examples" / "shop"
BRIDGE = Path(sys.executable).parent / "bridge"


@contextmanager
def started(opa: Path, log: IO[str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
    command: list[str | Path] = [BRIDGE, "run", "--manifests", SHOP, "--listen", "127.0.0.1:0", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log, env={**environ, "BRIDGE_OPA": str(opa)}, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_killed_bridge_leaves_no_opa(opa_path: Path, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log, started(opa_path, log) as process:
        assert process.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, (tmp_path / "log").read_text()
            said += line
        found = re.search(r"Queries: +http://127\.0\.0\.1:(\d+)/", said)
        assert found
        assert listens(int(found[1]))
        process.send_signal(signal.SIGKILL)
        eventually_blocking(lambda: not listens(int(found[1])), about=lambda: "its OPA continues")


def test_a_bridge_that_waits_for_an_opa_stops_on_request(opa_path: Path, unused_port: int, tmp_path: Path) -> None:
    with (
        (tmp_path / "log").open("w") as log,
        started(opa_path, log, "--opa", f"http://127.0.0.1:{unused_port}") as process,
    ):
        eventually_blocking(lambda: "running" in (tmp_path / "log").read_text())
        process.terminate()
        assert process.wait(180) == 0, (tmp_path / "log").read_text()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
