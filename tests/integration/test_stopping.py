"""However the bridge ends, nothing of it is left."""

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.e2e.serving import bridge_runs, bridge_starts
from tests.eventually import eventually_blocking

BRIDGE = Path(sys.executable).parent / "bridge"
OPTIONS = ("--manifests", Path(__file__).parents[2] / "examples" / "shop", "--listen", "127.0.0.1:0")


@pytest.fixture
def environment(opa_path: Path) -> dict[str, str]:
    settings = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
    return {**settings, "BRIDGE_OPA": str(opa_path)}


def test_a_killed_bridge_leaves_no_opa(environment: dict[str, str], tmp_path: Path) -> None:
    with bridge_runs(BRIDGE, environment, tmp_path / "log", *OPTIONS) as found:
        port = int(found.opa_url.rpartition(":")[2])
        assert listens(port)
        found.process.send_signal(signal.SIGKILL)
        eventually_blocking(lambda: not listens(port), about=lambda: "its OPA continues")


def test_a_bridge_that_waits_for_an_opa_stops_on_request(
    environment: dict[str, str], unused_tcp_port: int, tmp_path: Path
) -> None:
    log, opa = tmp_path / "log", f"http://127.0.0.1:{unused_tcp_port}"
    with bridge_starts(BRIDGE, environment, log, *OPTIONS, "--opa", opa) as process:
        eventually_blocking(lambda: "running" in log.read_text())
        process.terminate()
        assert process.wait(180) == 0, log.read_text()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
