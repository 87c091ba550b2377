"""A real Envoy serves what Envoy Gateway translates of `examples/proxies`: its dump and its access log are read."""

import http.client
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hack.tools.building import go_command
from hack.tools.wheels import wheel_executable
from tests.e2e.conftest import ROOT, Run
from tests.e2e.test_against_egctl import EGCTL
from tests.e2e.test_against_envoy import ENVOY
from tests.ports import free_ports

OBJECTS = ROOT / "examples/proxies/objects.yaml"
STARTING = 60.0  # seconds
Object = dict[str, Any]


class Served:
    """An Envoy that serves the example: its port, that of its admin interface, and its access log."""

    def __init__(self, port: int, admin: int, log: Path) -> None:
        self.port, self.admin, self.log = port, admin, log

    def post(self, path: str) -> int:
        """Send a request for the example's host; return the status."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("POST", path, headers={"host": "shop.example.com"})
        status = connection.getresponse().status
        connection.close()
        return status


def _bootstrap(translated: Object, port: int, admin: int, log: Path) -> Object:
    """A bootstrap with the translated listener, its routes inline, and clusters without endpoints."""
    [dump] = translated["xds"].values()
    parts = {one["@type"].rpartition(".")[2]: one for one in dump["configs"]}
    routes = {
        one["routeConfig"]["name"]: one["routeConfig"] for one in parts["RoutesConfigDump"]["dynamicRouteConfigs"]
    }
    listeners = [one["activeState"]["listener"] for one in parts["ListenersConfigDump"]["dynamicListeners"]]
    [listener] = [one for one in listeners if not one["name"].startswith("envoy-gateway-proxy-ready")]
    listener = {name: value for name, value in listener.items() if name not in {"@type", "accessLog"}}
    listener["address"] = {"socketAddress": {"address": "127.0.0.1", "portValue": port}}
    manager = listener["defaultFilterChain"]["filters"][0]["typedConfig"]
    routing = routes[manager.pop("rds")["routeConfigName"]]
    manager["routeConfig"] = {name: value for name, value in routing.items() if name != "@type"}
    for one in manager["accessLog"]:
        one["typedConfig"]["path"] = str(log)
    clusters = []
    for one in parts["ClustersConfigDump"]["dynamicActiveClusters"]:
        cluster = {name: value for name, value in one["cluster"].items() if name not in {"@type", "edsClusterConfig"}}
        clusters.append(cluster | {"type": "STATIC"})
    return {
        "admin": {"address": {"socketAddress": {"address": "127.0.0.1", "portValue": admin}}},
        "staticResources": {"listeners": [listener], "clusters": clusters},
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running Envoy with the configuration that Envoy Gateway makes of the example."""
    folder = tmp_path_factory.mktemp("envoy")
    options = ("--from=gateway-api", "--to=xds", "--type=all", "--add-missing-resources", "--output=json")
    command: list[str | Path] = [go_command(*EGCTL), "experimental", "translate", *options, f"--file={OBJECTS}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    port, admin = free_ports(2)
    found = Served(port, admin, folder / "access.log")
    config = folder / "envoy.json"
    config.write_text(json.dumps(_bootstrap(json.loads(done.stdout), port, admin, found.log)))
    arguments = ("--use-dynamic-base-id", "--concurrency", "1", "--file-flush-interval-msec", "50", "-l", "error")
    with subprocess.Popen([wheel_executable(*ENVOY), "-c", config, *arguments]) as process:
        try:
            _until_ready(found, process)
            yield found
        finally:
            process.terminate()


def _until_ready(served: Served, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + STARTING
    while True:
        try:
            served.post("/ready-yet")
        except OSError:
            assert process.poll() is None, "Envoy ended"
            assert time.monotonic() < end, "Envoy does not listen"
            time.sleep(0.2)
        else:
            return


@pytest.mark.long
def test_config_dump_of_a_real_envoy_is_verified(served: Served, bridge: Run, tmp_path: Path) -> None:
    objects = tmp_path / "objects.yaml"
    objects.write_text(
        OBJECTS.read_text().replace(
            "name: http, port: 80, protocol: HTTP}", f"name: http, port: {served.port}, protocol: HTTP}}"
        )
    )
    done = bridge(
        "verify", "--config-dump", f"http://127.0.0.1:{served.admin}", "--manifests", objects, "--all", "-o", "json"
    )
    answer = json.loads(done.stdout)
    assert done.returncode == 0, answer["rows"]
    assert answer["counts"]["verified"] > 10
    assert answer["counts"].keys() <= {"verified", "cannot be read"}
    fields = {row["field"] for row in answer["rows"] if row["state"] == "verified"}
    assert {"/retry/numRetries", "/rateLimit/local/rules", "/cors/maxAge", "/timeout/http/requestTimeout"} <= fields


@pytest.mark.long
def test_access_log_of_a_real_envoy_is_explained(served: Served, bridge: Run) -> None:
    answers = [served.post("/checkout") for _ in range(8)]
    assert answers.count(429) >= 3  # five a minute; backends have no endpoints
    assert served.post("/orders") == 404
    end = time.monotonic() + STARTING
    while served.log.read_text().count("route_not_found") < 2:  # Envoy writes it with a delay
        assert time.monotonic() < end, served.log.read_text()
        time.sleep(0.1)
    done = bridge("blame", "--access-log", served.log, "--manifests", OBJECTS, "-o", "json")
    found = json.loads(done.stdout)
    limited = [one for one in found["answers"] if one["status"] == 429]
    assert [one["fields"][0]["field"] for one in limited] == ["/rateLimit/local"]
    assert limited[0]["rule"].endswith("cart#checkout")
    assert limited[0]["count"] == answers.count(429)
    assert {one["message"] for one in found["answers"] if one["status"] == 404} == {"no rule serves the request"}
    line = next(text for text in served.log.read_text().splitlines() if '"response_code":429' in text)
    request = json.loads(bridge("request", "--from-log", line, "--manifests", OBJECTS, "-o", "json").stdout)
    assert request["rule"] == limited[0]["rule"]
