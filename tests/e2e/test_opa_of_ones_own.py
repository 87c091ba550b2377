"""An OPA that was started with what `bridge opa-config` prints."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.conftest import SHOP, Run
from tests.e2e.serving import free_address


@pytest.fixture
def opa_url(
    bridge: Run, bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path
) -> Iterator[str]:
    """Such an OPA, which a bridge has filled from the example."""
    opa, listen = free_address(), free_address()
    config = tmp_path / "opa.yaml"
    config.write_text(bridge("opa-config", "--bridge-url", f"http://{listen}").stdout)
    with ExitStack() as stack, (tmp_path / "log").open("w") as log:

        def start(*arguments: str | Path) -> subprocess.Popen[str]:
            process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=log, env=environment, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        start(opa_path, "run", "--server", "--addr", opa, "--config-file", config)
        url = f"http://{opa}"
        process = start(bridge_path, "run", "--opa", url, "--listen", listen, "--manifests", SHOP)
        assert process.stdout is not None
        if not any(line.startswith("Ctrl-C") for line in process.stdout):
            pytest.fail(f"bridge run ended: {(tmp_path / 'log').read_text()}", pytrace=False)
        yield url


def test_it_is_synced_and_answers(bridge: Run, opa_url: str) -> None:
    from_opa = bridge("status", "--opa", opa_url)
    assert (from_opa.returncode, from_opa.stderr) == (0, "")
    assert from_opa.stdout == bridge("status", "--manifests", SHOP).stdout


def test_doctor_finds_it_in_order(bridge: Run, opa_url: str) -> None:
    answer = bridge("doctor", "--opa", opa_url)
    assert f"{opa_url}: modules " in answer.stdout
    assert re.search(r"\d+ active policy kinds", answer.stdout)
