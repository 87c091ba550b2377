"""`/readyz` of a bridge whose OPA takes its time to start."""

from __future__ import annotations

import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.e2e.conftest import SHOP

PATIENCE = 30.0  # seconds


def _ask(url: str, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    deadline = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 (always http on loopback)
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_before_opa_has_started_the_bridge_is_alive_and_not_ready(
    bridge_path: Path, environment: dict[str, str], opa_path: Path, tmp_path: Path, unused_tcp_port: int
) -> None:
    slow = tmp_path / "opa"
    slow.write_text(f'#!/bin/sh\n[ "$1" = run ] && sleep 2\nexec {opa_path} "$@"\n')
    slow.chmod(0o755)
    address = f"127.0.0.1:{unused_tcp_port}"
    process = subprocess.Popen(
        [bridge_path, "run", "--manifests", SHOP, "--listen", address],
        env={**environment, "BRIDGE_OPA": str(slow)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert _ask(f"http://{address}/livez", process) == (200, "ok\n")
        status, text = _ask(f"http://{address}/readyz", process)
        assert status == 503
        assert "[-] replicator: OPA is not started yet" in text
        deadline = time.monotonic() + PATIENCE
        while _ask(f"http://{address}/readyz", process)[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        process.terminate()
        assert process.wait(20) == 0
