"""An OPA that was started with what `pbctl admin opa-config` prints."""

import asyncio
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import bridge_runs
from tests.eventually import eventually
from tests.ports import free_address

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "move-from-kube-mgmt.md"
POLICY = """apiVersion: v1
kind: ConfigMap
metadata: {name: team, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data: {main.rego: "package team"}
"""


@pytest.fixture
def opa_url(
    bridge: Run, bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path
) -> Iterator[str]:
    """Such an OPA, which a bridge has filled from the example."""
    opa, listen = free_address(), free_address()
    config = tmp_path / "opa.yaml"
    config.write_text(bridge("opa-config", "--bridge-url", f"http://{listen}").stdout)
    url, log = f"http://{opa}", tmp_path / "log"
    command: list[str | Path] = [opa_path, "run", "--server", "--addr", opa, "--config-file", config]
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            options = ("--opa", url, "--listen", listen, "--manifests", SHOP)
            with bridge_runs(bridge_path, environment, log, *options):
                yield url
        finally:
            process.kill()


@pytest.fixture
def bridge_of_a_disk_opa(
    bridge: Run, bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path
) -> Iterator[str]:
    """The address of a bridge with a policy, whose OPA keeps its documents on disk."""
    opa, listen = free_address(), free_address()
    config, manifests = tmp_path / "opa.yaml", tmp_path / "manifests"
    config.write_text(bridge("opa-config", "--bridge-url", f"http://{listen}").stdout)
    manifests.mkdir()
    (manifests / "team.yaml").write_text(POLICY)
    start_opa: list[str | Path] = [opa_path, "run", "--server", "--addr", opa, "--config-file", config]
    start_opa += ["--set", f"storage.disk.directory={tmp_path}/disk", "--set", "storage.disk.auto_create=true"]
    start: list[str | Path] = [bridge_path, "run", "--manifests", manifests, "--opa", f"http://{opa}"]
    start += ["--listen", listen]
    silent = subprocess.DEVNULL
    with (
        subprocess.Popen(start_opa, stdout=silent, stderr=silent) as opa_process,
        subprocess.Popen(start, stdout=silent, stderr=silent, env=environment) as process,
    ):
        try:
            yield f"http://{listen}"
        finally:
            process.kill()
            opa_process.kill()


async def test_readiness_names_the_cause_that_keeps_policies_waiting(bridge_of_a_disk_opa: str) -> None:
    def read_readiness() -> str:
        try:
            with urllib.request.urlopen(f"{bridge_of_a_disk_opa}/readyz?verbose", timeout=10) as answer:  # noqa: S310
                return str(answer.read(), "utf-8")
        except urllib.error.HTTPError as error:
            return str(error.read(), "utf-8")

    await eventually(lambda: asyncio.to_thread(read_readiness), lambda text: "storage.disk" in text)


def test_opa_of_the_guide_from_kube_mgmt_takes_the_bridges_modules(
    bridge: Run, bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """The configuration has the secrets of the machine on which an admin printed it; the Pod has its own."""
    [text] = re.findall(r"    ```yaml\n(    spec:\n.*?)    ```\n", GUIDE.read_text(), re.DOTALL)
    pod = yaml.safe_load(text)["spec"]
    opa, listen = free_address(), free_address()

    def arguments_of(kind: str, name: str) -> list[str]:
        [container] = [one for one in pod[kind] if one["name"] == name]
        return [
            one.replace("/run/policy-bridge", str(tmp_path / "run")).replace("/etc/policy-bridge", str(tmp_path))
            for one in container["args"]
        ]

    (tmp_path / "bridge.yaml").write_text(f"opa_url: http://{opa}\n")
    (tmp_path / "opa.yaml").write_text(bridge("admin", "opa-config", "--bridge-url", f"http://{listen}").stdout)
    assert bridge(*arguments_of("initContainers", "credentials")).returncode == 0
    command: list[str | Path] = [opa_path, "run", "--server", "--addr", opa, *arguments_of("containers", "opa")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            command_of_bridge, *options = arguments_of("containers", "bridge")
            assert command_of_bridge == "run"
            given: list[str | Path] = [*options, "--listen", listen, "--manifests", SHOP]
            with bridge_runs(bridge_path, environment, tmp_path / "log", *given):
                assert bridge("status", "--opa", f"http://{opa}").returncode == 0
        finally:
            process.kill()


def test_it_is_synced_and_answers(bridge: Run, opa_url: str) -> None:
    from_opa = bridge("status", "--opa", opa_url)
    assert (from_opa.returncode, from_opa.stderr) == (0, "")
    assert from_opa.stdout == bridge("status", "--manifests", SHOP).stdout


def test_doctor_finds_it_in_order(bridge: Run, opa_url: str) -> None:
    answer = bridge("doctor", "--opa", opa_url)
    assert f"{opa_url}: modules " in answer.stdout
    assert re.search(r"\d+ active policy kinds", answer.stdout)
