"""SIGHUP to a bridge at work: what it takes up of its file at once, what it names, and a file that is wrong."""

import json
import os
import re
import signal
import ssl
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.e2e.conftest import SHOP
from tests.e2e.serving import bridge_starts
from tests.eventually import eventually_blocking
from tests.integration.served_webhook import review_of
from tests.ports import free_address

PATIENCE = 300.0  # seconds
POLICY = """
apiVersion: v1
kind: ConfigMap
metadata: {name: gate, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  gate.rego: |
    package gate

    errors contains "the gate is shut"
"""


class Bridge:
    """A bridge that serves the example, with settings that a test writes."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, start: dict[str, Any]) -> None:
        self.process = process
        self._folder = folder
        self._start = start

    def write(self, **settings: Any) -> None:
        """Write the file of settings: those of the start with these."""
        (self._folder / "bridge.yaml").write_text(json.dumps({**self._start, **settings}))

    def reload(self) -> None:
        """Have the file read."""
        os.kill(self.process.pid, signal.SIGHUP)

    def log(self) -> list[dict[str, Any]]:
        """What was logged as JSON."""
        lines = (self._folder / "log").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def logged(self, event: str) -> dict[str, Any]:
        """Wait for an event; the last of that name."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [line for line in self.log() if line["event"] == event]
            return bool(found)

        self.until(there)
        return found[-1]

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait."""
        eventually_blocking(holds, about=(self._folder / "log").read_text)

    def metrics(self) -> str:
        """What /metrics says."""
        with urllib.request.urlopen(f"http://{self._start['probe_listen']}/metrics", timeout=30) as answer:
            return str(answer.read().decode())

    def admits(self) -> bool:
        """Whether the webhook lets an object in."""
        requested = urllib.request.Request(
            f"https://{self._start['webhook_listen']}/admission?timeout=10s",
            review_of({}),
            {"Content-Type": "application/json"},
        )
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # what is tested is not its certificate
        with urllib.request.urlopen(requested, timeout=PATIENCE, context=context) as answer:  # noqa: S310 (loopback)
            return bool(json.load(answer)["response"]["allowed"])


@pytest.fixture
def at_work(bridge_path: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Bridge]:
    """A bridge that is ready, with a webhook that asks no decision."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    server = trustme.CA().issue_cert("localhost")
    server.cert_chain_pems[0].write_to_path(tmp_path / "tls.crt")
    server.private_key_pem.write_to_path(tmp_path / "tls.key")
    start = {
        "manifests": [str(SHOP), str(tmp_path / "policy.yaml")],
        "listen": "127.0.0.1:0",
        "probe_listen": free_address(),
        "webhook_listen": free_address(),
        "webhook_cert_file": str(tmp_path / "tls.crt"),
        "webhook_key_file": str(tmp_path / "tls.key"),
        "webhook_decision": "",
        "shutdown_drain": 0,
        "log_format": "json",
    }
    (tmp_path / "bridge.yaml").write_text(json.dumps(start))
    with bridge_starts(bridge_path, environment, tmp_path / "log", "--config", tmp_path / "bridge.yaml") as process:
        bridge = Bridge(process, tmp_path, start)
        bridge.logged("OPA synced")
        bridge.logged("admission webhook started")
        yield bridge


def test_settings_are_taken_up_while_it_runs(at_work: Bridge) -> None:
    bridge = at_work
    assert bridge.admits()
    bridge.write(webhook_decision="gate", status_writes_per_second=5, listen="127.0.0.1:1", log_level="debug")
    bridge.reload()
    changed = bridge.logged("settings reloaded")["changed"]
    assert sorted(changed) == ["log_level", "status_writes_per_second", "webhook_decision"]
    assert bridge.logged("settings require a restart")["settings"] == ["listen"]
    bridge.until(lambda: not bridge.admits())
    # A file that is wrong changes nothing, and is logged with what is wrong.
    bridge.write(webhook_decision="", lissten="a:1", opa_port="many")
    bridge.reload()
    mistakes = bridge.logged("settings reload failed")["mistakes"]
    assert [mistake.partition(".yaml:1: ")[2].split(":")[0] for mistake in mistakes] == [
        "unknown setting 'lissten'; did you mean listen?",
        "opa_port",
    ]
    assert not bridge.admits()
    assert "policy_bridge_settings_current 0.0" in bridge.metrics()
    # Nor does a decision whose token is not there: the webhook asks as before.
    bridge.write(webhook_decision="http://127.0.0.1:9/v1/data/a", webhook_token_file="/nowhere/token")
    bridge.reload()
    assert "/nowhere/token" in bridge.logged("webhook decision reload failed")["why"]
    assert not bridge.admits()
    bridge.write()
    bridge.reload()
    bridge.until(bridge.admits)
    page = bridge.metrics()
    assert "policy_bridge_settings_current 1.0" in page
    assert 'policy_bridge_settings_reloads_total{result="applied"} 3.0' in page
    assert 'policy_bridge_settings_reloads_total{result="refused"} 1.0' in page
    denied = re.search(r'policy_bridge_admission_requests_total\{outcome="denied"\} (\d+)', page)
    assert denied
    assert int(denied[1]) >= 3
