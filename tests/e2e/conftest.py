"""The `pbctl` command as a user runs it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.serving import Serving, bridge_runs
from tests.in_process import run_warm, run_with_opa

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "shop"


@pytest.fixture(scope="session")
def bridge_path() -> Path:
    """The installed command, beside the Python that runs the tests."""
    path = Path(sys.executable).parent / "pbctl"
    if not path.exists():
        pytest.fail("the command `pbctl` is not installed: `make setup` does it", pytrace=False)
    return path


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let child processes obey Ctrl-C: a shell's background jobs ignore it, and their children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The command's environment: that of the tests without variables that name an OPA or a cluster."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("BRIDGE_OPA") and name not in {"KUBECONFIG", "KUBERNETES_SERVICE_HOST"}
    }


@pytest.fixture(scope="session")
def bridge(environment: dict[str, str]) -> Run:
    """A function that runs `pbctl` with arguments, `text` on standard input and `more` in its environment.

    It runs in the tests' process, with an OPA that runs already: `bridge_process` is the whole, which takes seconds.
    """

    def run(
        *arguments: str | Path, text: str = "", more: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return run_warm(*arguments, text=text, environment={**environment, **(more or {})})

    return run


@pytest.fixture(scope="session")
def bridge_process(bridge_path: Path, environment: dict[str, str]) -> Run:
    """Such a function that starts the installed command, which starts its own OPA."""

    def run(
        *arguments: str | Path, text: str = "", more: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [bridge_path, *arguments],
            input=text,
            env={**environment, **(more or {})},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def served_shop(
    bridge_path: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serving]:
    """A bridge that serves `examples/shop`; nothing changes what it has."""
    log = tmp_path_factory.mktemp("shop") / "log"
    with bridge_runs(bridge_path, environment, log, "--manifests", SHOP, "--listen", "127.0.0.1:0") as found:
        yield found


@pytest.fixture(scope="session")
def shop_opa(served_shop: Serving) -> str:
    """The address of its OPA."""
    return served_shop.opa_url


@pytest.fixture(scope="session")
def shop(shop_opa: str) -> Run:
    """A function that runs a read command on `examples/shop`, with the shared OPA."""
    return partial(run_with_opa, shop_opa)
