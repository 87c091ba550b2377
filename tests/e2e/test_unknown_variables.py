"""A variable of the environment that looks like a setting and is none."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Run

WRONG = {"BRIDGE_PROBE_LISTNE": "0.0.0.0:8283"}
SAID = "warning: environment BRIDGE_PROBE_LISTNE: unknown setting; did you mean BRIDGE_PROBE_LISTEN?\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Settings without a mistake."""
    file = tmp_path / "bridge.yaml"
    file.write_text("log_level: error\n")
    return file


def test_config_reports_it_and_succeeds(bridge: Run, file: Path) -> None:
    for command in (("check", file), ("show", "--config", file)):
        plain, answer = bridge("config", *command), bridge("config", *command, more=WRONG)
        assert (plain.returncode, plain.stderr) == (0, "")
        assert (answer.returncode, answer.stderr) == (0, SAID)
        assert answer.stdout == plain.stdout


def test_run_reports_it_once_at_its_start(bridge_process: Run) -> None:
    answer = bridge_process("run", "--kubeconfig", "/nowhere", "--log-format", "json", more=WRONG)
    assert answer.stderr.count("BRIDGE_PROBE_LISTNE") == 1
    assert '"near": "BRIDGE_PROBE_LISTEN"' in answer.stderr
