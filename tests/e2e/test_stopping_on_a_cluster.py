"""SIGTERM with requests under way: what ends when, as callers, a second bridge and the log see it."""

import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import SHOP
from tests.e2e.serving import bridge_starts, fetch
from tests.eventually import eventually_blocking
from tests.integration.served_webhook import review_of
from tests.ports import free_address

pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
POLICIES = "/api/v1/namespaces/opa-policies"
POLICY = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "any", "labels": {"openpolicyagent.org/policy": "rego"}},
    "data": {"any.rego": "package any\n\nyes := true\n"},
}
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/policy-bridge"


class Decisions(BaseHTTPRequestHandler):
    """Answers a placement decision at once, of the object `held` once it is `released`."""

    requested = threading.Event()
    released = threading.Event()

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b'"held"' in body:
            self.requested.set()
            self.released.wait(PATIENCE)
        answer = b'{"result": {}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def decisions() -> Iterator[str]:
    """The URL of a decision that is slow for one object."""
    Decisions.requested.clear()
    Decisions.released.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Decisions)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/data/slow"
    Decisions.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


def _review(address: str, name: str) -> tuple[bool, str]:
    """Whether an object is admitted, and the header Connection of the answer."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # what is tested is not its certificate
    # Not urllib, which asks for the connection's end itself.
    connection = http.client.HTTPSConnection(address, timeout=PATIENCE, context=context)
    connection.request("POST", "/admission?timeout=30s", review_of({}, name), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    try:
        return json.load(answer)["response"]["allowed"], str(answer.headers["Connection"])
    finally:
        connection.close()


def _holder(plane: ControlPlane) -> str:
    return str(plane.api.get(LEASE)["spec"].get("holderIdentity") or "")


def test_a_bridge_ends_in_order_and_another_continues_at_once(
    own_control_plane: ControlPlane, bridge_path: Path, environment: dict[str, str], decisions: str, tmp_path: Path
) -> None:
    plane, logs = own_control_plane, (tmp_path / "first", tmp_path / "second")
    plane.api.apply(POLICIES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "opa-policies"}})
    plane.api.apply(f"{POLICIES}/configmaps/any", POLICY)  # where there is none, no decision is waited for
    address, webhook = free_address(), free_address()
    ready = f"http://{address}/readyz"
    command = ("--kubeconfig", plane.kubeconfig, "--listen")
    serving = {
        "BRIDGE_WEBHOOK_LISTEN": webhook,
        "BRIDGE_WEBHOOK_URL": f"https://{webhook}/admission",
        "BRIDGE_WEBHOOK_DECISION": decisions,
        "BRIDGE_WEBHOOK_DEADLINE": "30",
        "BRIDGE_SHUTDOWN_DRAIN": "3",
        "BRIDGE_SHUTDOWN_GRACE": "60",
    }
    with bridge_starts(bridge_path, environment, logs[0], *command, address, **serving) as first:
        eventually_blocking(lambda: fetch(ready)[0] == 200 and _holder(plane), about=logs[0].read_text)
        was = _holder(plane)
        second_starts = bridge_starts(bridge_path, environment, logs[1], *command, "127.0.0.1:0")
        with second_starts as second, ThreadPoolExecutor(1) as pool:
            eventually_blocking(lambda: "Lease held by another bridge" in logs[1].read_text(), about=logs[1].read_text)
            under_way = pool.submit(_review, webhook, "held")
            eventually_blocking(Decisions.requested.is_set, about=logs[0].read_text)

            first.terminate()
            eventually_blocking(lambda: "the bridge is stopping" in fetch(ready)[1], about=logs[0].read_text)
            assert fetch(ready)[0] == 503
            # Clients that do not know of it yet get a response, and use another Pod next time.
            assert _review(webhook, "new") == (True, "close")
            eventually_blocking(lambda: not _listens(webhook), about=logs[0].read_text)
            assert not under_way.done()
            assert _holder(plane) == was
            Decisions.released.set()
            assert under_way.result(PATIENCE) == (True, "close")

            assert first.wait(PATIENCE) == 0, logs[0].read_text()
            eventually_blocking(lambda: "status writes started" in logs[1].read_text(), about=logs[1].read_text)
            assert _holder(plane) not in {"", was}
            second.terminate()
            assert second.wait(PATIENCE) == 0, logs[1].read_text()
    assert _holder(plane) == ""
    reported = logs[0].read_text()
    order = [
        "shutdown started",
        "admission webhook draining",
        "admission webhook stopped",
        "pending changes written to OPA",
        "status writes stopped",
        "OPA stopped",
        "stopped",
    ]
    places = [reported.find(f"] {text}") for text in order]
    assert -1 not in places, reported
    assert places == sorted(places), reported
    assert "warning" not in reported[places[0] :], reported


def test_a_second_signal_ends_it_at_once(
    bridge_path: Path, environment: dict[str, str], decisions: str, tmp_path: Path
) -> None:
    certificate, key, log, webhook = tmp_path / "crt", tmp_path / "key", tmp_path / "log", free_address()
    request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x"]
    subprocess.run(["openssl", *request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    serving = {
        "BRIDGE_WEBHOOK_LISTEN": webhook,
        "BRIDGE_WEBHOOK_CERT_FILE": str(certificate),
        "BRIDGE_WEBHOOK_KEY_FILE": str(key),
        "BRIDGE_SHUTDOWN_DRAIN": "300",
        "BRIDGE_SHUTDOWN_GRACE": "600",
    }
    command = ("--manifests", SHOP, "--listen", "127.0.0.1:0")
    with bridge_starts(bridge_path, environment, log, *command, **serving) as process:
        eventually_blocking(lambda: "admission webhook started" in log.read_text(), about=log.read_text)
        found = re.search(r"opa=http://(\S+)", log.read_text())
        assert found
        process.send_signal(signal.SIGTERM)
        eventually_blocking(lambda: "admission webhook draining" in log.read_text(), about=log.read_text)
        time.sleep(1.0)  # one that comes together with the first is the first
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == -signal.SIGTERM
        eventually_blocking(lambda: not _listens(found[1]), about=log.read_text)


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex((host, int(port))) == 0
