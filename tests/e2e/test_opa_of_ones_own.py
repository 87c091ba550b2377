"""An OPA that was started with what `pbctl admin opa-config` prints."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import bridge_runs
from tests.ports import free_address


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


def test_it_is_synced_and_answers(bridge: Run, opa_url: str) -> None:
    from_opa = bridge("status", "--opa", opa_url)
    assert (from_opa.returncode, from_opa.stderr) == (0, "")
    assert from_opa.stdout == bridge("status", "--manifests", SHOP).stdout


def test_doctor_finds_it_in_order(bridge: Run, opa_url: str) -> None:
    answer = bridge("doctor", "--opa", opa_url)
    assert f"{opa_url}: modules " in answer.stdout
    assert re.search(r"\d+ active policy kinds", answer.stdout)
