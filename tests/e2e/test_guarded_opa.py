"""`pbctl run` with an OPA of its own at a Unix socket, where readers have an address of theirs and tokens."""

import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import bridge_runs
from tests.ports import free_address

READER = "token-of-a-reader-of-policies"


def _ask(address: str, token: str | None, body: bytes = b'{"input": {}}', method: str = "POST") -> int:
    request = urllib.request.Request(f"http://{address}/v1/data/bridge/v1/types", data=body, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=180) as answer:  # noqa: S310 (loopback)
            assert json.load(answer)["result"]
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_readers_ask_at_their_address_and_the_bridge_fills_it_by_the_socket(
    bridge: Run, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "readers").write_text(READER)
    at, readers = tmp_path / "s", free_address()
    (tmp_path / "bridge.yaml").write_text(f"opa_readers: {tmp_path / 'readers'}\nopa_listen: ['{readers}']\n")
    arguments: list[str | Path] = [
        "--manifests",
        SHOP,
        "--listen=127.0.0.1:0",
        f"--opa-socket={at}",
        f"--config={tmp_path}/bridge.yaml",
    ]
    with bridge_runs(bridge_path, environment, tmp_path / "log", *arguments) as running:
        assert f"curl -s --unix-socket {at} http://localhost/v1/data/bridge/v1/effective" in running.said
        assert (_ask(readers, READER), _ask(readers, None), _ask(readers, READER, method="PUT")) == (200, 401, 401)
        requested = bridge("effective", "--opa", f"http://{readers}", "--opa-token-file", tmp_path / "readers")
        assert (requested.returncode, requested.stderr) == (0, "")
        assert requested.stdout == bridge("effective", "--manifests", SHOP).stdout
        none = bridge("effective", "-n", "nowhere", *requested.args[-4:])
        assert (none.returncode, none.stdout) == (2, "")
        assert "nowhere" in none.stderr
        found = bridge("doctor", "--opa", f"http://{readers}", "--opa-token-file", tmp_path / "readers").stdout
        assert re.search(r"modules [0-9a-f]{16}, \d+ active policy kinds", found)
        by_socket = bridge("effective", "--opa", f"unix://{at}")
        assert (by_socket.returncode, by_socket.stdout) == (2, "")
        assert "send a token" in by_socket.stderr
        running.process.terminate()
        running.process.wait(timeout=180)
    assert READER not in (tmp_path / "log").read_text()
    assert not at.exists(), "the socket goes with its OPA"


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("opa_listen: ['0.0.0.0:8181']", "opa_listen needs opa_readers"),
        ("opa_readers: /no/such/file", "the token file /no/such/file cannot be read: No such file or directory"),
        ("opa_socket: relative/path", "write unix:///run/opa.sock"),
        ("opa_url: http://127.0.0.1:1\nopa_socket: /run/s", "opa_socket is for the OPA that the bridge starts"),
        ("opa_url: http://127.0.0.1:1\nopa_readers: /run/s", "opa_readers needs opa_token_file"),
        ("opa_cert_file: /run/c", "opa_cert_file and opa_key_file go together"),
        ("opa_socket: /run/s\nopa_port: 8181", "opa_port and opa_socket cannot be used together"),
    ],
)
def test_settings_that_would_leave_it_open_are_refused(
    bridge_process: Run, tmp_path: Path, file: str, says: str
) -> None:
    (tmp_path / "bridge.yaml").write_text(file)
    answer = bridge_process("run", "--manifests", SHOP, "--listen", "127.0.0.1:0", "--config", tmp_path / "bridge.yaml")
    assert answer.returncode == 2
    assert says in answer.stderr
    assert answer.stderr.count("\n") == 1
