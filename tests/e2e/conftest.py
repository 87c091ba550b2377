"""The `bridge` command as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "shop"


@pytest.fixture(scope="session")
def bridge_path() -> Path:
    """The installed command, beside the Python that runs the tests."""
    path = Path(sys.executable).parent / "bridge"
    if not path.exists():
        pytest.fail("the command `bridge` is not installed: `make setup` does it", pytrace=False)
    return path


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What the test starts obeys Ctrl-C: tests that a shell runs in its background ignore it, and hand that on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """What the command's environment is: ours without what would tell it of an OPA or a cluster."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("BRIDGE_OPA") and name not in {"KUBECONFIG", "KUBERNETES_SERVICE_HOST"}
    }


@pytest.fixture(scope="session")
def bridge(bridge_path: Path, environment: dict[str, str]) -> Run:
    """Runs `bridge` with arguments (`text` on standard input, `more` in its environment) and gives what it said."""

    def run(
        *arguments: str | Path, text: str = "", more: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [bridge_path, *arguments],
            input=text,
            env={**environment, **(more or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run
