"""`pbctl run` on a folder of manifests."""

import contextlib
import http.client
import json
import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import Serving, bridge_runs, bridge_starts
from tests.eventually import equal_to, eventually_blocking

LISTEN = "127.0.0.1:0"
RULE = "gateway.networking.k8s.io/HTTPRoute/blog/feeds#atom"


@dataclass
class Running:
    """A bridge that has said where to ask."""

    serving: Serving
    folder: Path

    def effective_spec(self) -> Any:
        """Return the effective spec of RULE from OPA's data API."""
        connection = http.client.HTTPConnection(self.serving.opa_url.removeprefix("http://"), timeout=180)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/data/bridge/v1/effective", json.dumps({"input": {"targets": [RULE]}}))
            return json.load(connection.getresponse())["result"][0]["paths"][0]["spec"]


@pytest.fixture(scope="module")
def running(
    bridge_path: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A bridge that serves a copy of the example; the last test stops it."""
    folder = shutil.copytree(SHOP, tmp_path_factory.mktemp("run") / "shop")
    log = folder.parent / "log"
    with bridge_runs(bridge_path, environment, log, "--manifests", folder, "--listen", LISTEN) as serving:
        yield Running(serving, folder)


def test_it_shows_effective_policies_statuses_and_where_to_ask(running: Running) -> None:
    assert re.search(r"^HTTPRoute/shop/cart#view +ColorPolicy ", running.serving.said, re.MULTILINE)
    assert re.search(r"^shop/summer-sale +ColorPolicy +False +TargetNotFound", running.serving.said, re.MULTILINE)
    assert running.effective_spec()["colors"]["accent"] == "blue"


def test_its_opa_answers_the_read_commands(running: Running, bridge: Run) -> None:
    from_opa = bridge("effective", "--opa", running.serving.opa_url, "-o", "json")
    assert (from_opa.returncode, from_opa.stderr) == (0, "")
    assert from_opa.stdout == bridge("effective", "--manifests", running.folder, "-o", "json").stdout


def test_it_follows_changes_of_the_folder(running: Running) -> None:
    file = running.folder / "60-brand.yaml"
    file.write_text(file.read_text().replace("accent: blue", "accent: pink"))
    eventually_blocking(lambda: running.effective_spec()["colors"]["accent"], equal_to("pink"))


def test_a_taken_address_is_one_line(bridge_process: Run, running: Running) -> None:
    found = re.search(r"Web page: +http://(\S+)", running.serving.said)
    assert found
    answer = bridge_process("run", "--manifests", running.folder, "--listen", found[1], "--log-level", "error")
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"error: cannot listen on {found[1]}: ")
    assert answer.stderr.count("\n") == 1


def test_many_effective_targets_are_only_counted(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop")
    rules = "".join(f"  - name: rule-{number}\n" for number in range(101))
    (folder / "many.yaml").write_text(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: many, namespace: shop}\n"
        f"spec:\n  parentRefs: [{{name: public, namespace: infra}}]\n  rules:\n{rules}"
    )
    with bridge_runs(bridge_path, environment, tmp_path / "log", "--manifests", folder, "--listen", LISTEN) as serving:
        assert re.search(r"^1\d\d effective targets: `pbctl effective` ", serving.said, re.MULTILINE)
        assert "TARGET " not in serving.said


@pytest.mark.parametrize("source", ["--manifests", "--kubeconfig"])
def test_missing_source_is_one_line(bridge_process: Run, source: str) -> None:
    answer = bridge_process("run", "--log-level", "error", source, "/nowhere")
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1
    assert "/nowhere" in answer.stderr


def test_bridge_that_waits_for_an_opa_stops_on_request(
    bridge_path: Path, environment: dict[str, str], unused_tcp_port: int, tmp_path: Path
) -> None:
    log, options = tmp_path / "log", ("--listen", LISTEN, "--opa", f"http://127.0.0.1:{unused_tcp_port}")
    with bridge_starts(bridge_path, environment, log, "--manifests", SHOP, *options) as process:
        eventually_blocking(lambda: "running" in log.read_text())
        process.terminate()
        assert process.wait(180) == 0, log.read_text()


def test_ctrl_c_stops_it_and_its_opa(running: Running) -> None:
    running.serving.process.send_signal(signal.SIGINT)
    assert running.serving.process.wait(180) == 0
    with pytest.raises(ConnectionRefusedError):
        running.effective_spec()
