"""Go builds every tool by itself, and npm the one of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hack.tools import TOOLS


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if tool.go])
def test_go_builds_it_into_an_empty_cache(name: str, tmp_path: Path) -> None:
    """With no such tool on PATH and no downloads, it is there afterwards, and tells its version."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go here")
    elsewhere = {"BRIDGE_OPA", "BRIDGE_HELM", "BRIDGE_PROMTOOL", "KUBEBUILDER_ASSETS"}
    environment = {k: v for k, v in os.environ.items() if k not in elsewhere}
    environment |= {"BRIDGE_CACHE": str(tmp_path), "BRIDGE_DOWNLOADS": "never", "PATH": f"{Path(go).parent}"}
    answer = subprocess.run(
        [sys.executable, "-m", "hack.tools", "install", name],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert "built by Go" in answer.stderr
    which = [sys.executable, "-m", "hack.tools", "which", name]
    path = subprocess.run(which, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert path.startswith(str(tmp_path))


@pytest.mark.long
@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm here")
def test_npm_installs_its_tool_into_an_empty_cache(tmp_path: Path) -> None:
    environment = os.environ | {"BRIDGE_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "hack.tools", "install", "azurite-blob"]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "installed by npm" in answer.stderr
