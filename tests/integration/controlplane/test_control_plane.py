"""The tests' own control plane keeps its promises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.controlplane.api import ApiError, ApiServer
from tests.controlplane.fixtures import Apply
from tests.controlplane.plane import LIMITED_TOKEN, ControlPlane

HTTP_ROUTES = "/apis/gateway.networking.k8s.io/v1/httproutes"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def test_it_serves_gateway_api(control_plane: ControlPlane) -> None:
    """The CRDs are installed before the first test runs."""
    assert control_plane.api.get(HTTP_ROUTES)["kind"] == "HTTPRouteList"


def test_kubectl_applies_objects_to_it(control_plane: ControlPlane, kubectl_apply: Apply) -> None:
    kubectl_apply("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: applied-by-kubectl\n")
    assert control_plane.api.get("/api/v1/namespaces/applied-by-kubectl")["kind"] == "Namespace"


def test_a_user_without_rights_is_refused(control_plane: ControlPlane) -> None:
    limited = ApiServer(control_plane.url, LIMITED_TOKEN, control_plane.api.context)
    with pytest.raises(ApiError) as refusal:
        limited.get(HTTP_ROUTES)
    assert refusal.value.status == 403


def test_its_objects_survive_a_restart_of_both_parts(bare_control_plane: ControlPlane) -> None:
    """A fault test stops either part and finds the same address and the same objects again."""
    plane = bare_control_plane
    plane.api.request("POST", CONFIG_MAPS, {"metadata": {"name": "kept"}, "data": {"a": "b"}})
    plane.stop_etcd()
    plane.start_etcd()
    plane.restart_api_server()
    assert plane.api.get(f"{CONFIG_MAPS}/kept")["data"] == {"a": "b"}


def test_a_watch_from_a_forgotten_version_gets_410(bare_control_plane: ControlPlane) -> None:
    plane = bare_control_plane
    made = plane.api.request("POST", CONFIG_MAPS, {"metadata": {"name": "first"}})
    old = made["metadata"]["resourceVersion"]
    plane.api.request("POST", CONFIG_MAPS, {"metadata": {"name": "second"}})
    plane.forget_history()
    event = plane.api.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=5&resourceVersion={old}")
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_it_ends_when_the_tests_are_killed(tmp_path: Path) -> None:
    """No server is left behind by a test run that was killed with SIGKILL."""
    program = (
        "import sys, time; from pathlib import Path; from tests.controlplane.process import ServerProcess;"
        "ServerProcess(['sh', '-c', 'echo $$; exec sleep 600'], Path(sys.argv[1])); time.sleep(600)"
    )
    log = tmp_path / "log"
    with subprocess.Popen([sys.executable, "-c", program, str(log)]) as tests:
        while not (log.exists() and log.read_text().endswith("\n")):
            time.sleep(0.02)
        server = int(log.read_text())
        tests.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while _runs(server):
        assert time.monotonic() < deadline, "the server outlived its tests"
        time.sleep(0.02)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return stat.stdout.strip()[:1] not in {"", "Z"}  # a zombie has ended
