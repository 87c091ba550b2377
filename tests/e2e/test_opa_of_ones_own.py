"""An OPA that was started with what `pbctl admin opa-config` prints."""

import asyncio
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import bridge_runs
from tests.eventually import eventually
from tests.ports import free_address

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


def test_it_is_synced_and_answers(bridge: Run, opa_url: str) -> None:
    from_opa = bridge("status", "--opa", opa_url)
    assert (from_opa.returncode, from_opa.stderr) == (0, "")
    assert from_opa.stdout == bridge("status", "--manifests", SHOP).stdout


def test_doctor_finds_it_in_order(bridge: Run, opa_url: str) -> None:
    answer = bridge("doctor", "--opa", opa_url)
    assert f"{opa_url}: modules " in answer.stdout
    assert re.search(r"\d+ active policy kinds", answer.stdout)
