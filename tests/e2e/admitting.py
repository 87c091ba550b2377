"""A bridge whose webhook the API server calls, on a cluster with the example."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ROOT, SHOP
from tests.e2e.serving import bridge_starts
from tests.eventually import eventually_blocking
from tests.ports import free_address

PATIENCE = 300.0  # seconds

Said = Callable[..., tuple[int, str]]


def speaking(kubectl_path: Path, plane: ControlPlane) -> Said:
    """A function that runs kubectl: its exit code, and all that it said."""
    at = Kubectl(kubectl_path, plane)

    def run(*arguments: str, text: str = "") -> tuple[int, str]:
        done = at.run(*arguments, text=text)
        return done.returncode, done.stdout + done.stderr

    return run


@contextmanager
def bridge_beside_the_shop(
    plane: ControlPlane, kubectl: Said, bridge_path: Path, environment: dict[str, str], folder: Path, *resources: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A bridge whose webhook the API server asks, on a cluster with the example; its log is in a folder.

    The webhook is asked about these resources and what guardrails judge; by default about all.
    """
    kubectl("apply", f"--filename={ROOT / 'deploy' / 'crds'}")
    kubectl("apply", f"--filename={SHOP}")
    plane.api.wait_for_crds({"policykinds.policybridge.io", "colorpolicies.example.com", "timeoutpolicies.example.com"})
    assert kubectl("apply", f"--filename={SHOP}")[0] == 0
    assert kubectl("create", "namespace", "opa-policies")[0] == 0
    with asked(plane, kubectl, bridge_path, environment, folder, *resources) as process:
        yield process


@contextmanager
def asked(
    plane: ControlPlane, kubectl: Said, bridge_path: Path, environment: dict[str, str], folder: Path, *resources: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A bridge whose webhook the API server asks; about these resources, by default about all."""
    address = free_address()
    requested = ["webhook-config", "--url", f"https://{address}/admission"]
    requested += [f"--resource={resource}" for resource in resources]
    printed = subprocess.run(
        [bridge_path, *requested], env=environment, capture_output=True, text=True, check=True
    ).stdout
    # On a loaded machine a request may take longer than users should wait.
    printed = re.sub(r"timeoutSeconds: \d+", "timeoutSeconds: 20", printed)
    assert kubectl("apply", "-f", "-", text=printed)[0] == 0
    options = ("--kubeconfig", plane.kubeconfig, "--listen", "127.0.0.1:0", "--webhook-listen", address)
    variables = {"BRIDGE_WEBHOOK_URL": f"https://{address}/admission"}
    try:
        with bridge_starts(bridge_path, environment, folder / "log", *options, **variables) as process:
            yield process
    finally:
        print((folder / "log").read_text())  # noqa: T201 - what pytest shows of a failure


def until(kubectl: Said, arguments: list[str], text: str, said: str) -> None:
    """Wait until a kubectl command says this."""
    eventually_blocking(lambda: kubectl(*arguments, text=text)[1], lambda reported: said in reported, pause=0.2)
