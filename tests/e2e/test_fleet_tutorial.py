"""The tutorial about a fleet, from its page: real clusters, a real registry, bridges and OPAs."""

from __future__ import annotations

import re
import shlex
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.documented import ROOT, Command, File, fits, plain, steps
from tests.e2e.test_several_clusters import merge_kubeconfigs
from tests.eventually import eventually_blocking
from tests.ports import free_address
from tests.storing import StorageServer

PAGE = ROOT / "docs" / "tutorials" / "one-hub-two-clusters-three-opas.md"
ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
REVISION = re.compile(r"\b[0-9a-f]{16}\b")
SIZE = re.compile(r"\b\d{5,}$", re.MULTILINE)
AGE = re.compile(r"\b\d+s$", re.MULTILINE)
PREPARED = re.compile(r"kind |docker |.*standard-install\.yaml")  # by the test
SERVER = re.compile(r"(HOSTNAME=\w+ )?(pbctl|opa) run ")
ENDING = "pkill --full "


@dataclass
class Reader:
    """Types what the page shows. `addresses` are free ones in place of the page's."""

    folder: Path
    environment: dict[str, str]
    addresses: dict[str, str]
    stack: ExitStack
    servers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)  # by their commands
    revisions: dict[str, str] = field(default_factory=dict)  # on the page, and those of this run

    def take(self, step: File | Command) -> None:
        """Write a file, or run a command until it prints what the page shows."""
        if isinstance(step, File):
            (self.folder / step.name).write_text(self._here(step.text))
        elif step.line.startswith(ENDING):
            [wanted] = shlex.split(step.line.removeprefix(ENDING))
            [line] = [line for line in self.servers if wanted in line]
            process = self.servers.pop(line)
            process.kill()
            process.wait()
        elif SERVER.match(step.line):
            self._start(step.line)
        elif not PREPARED.match(step.line):
            self._run(step)

    def _start(self, line: str) -> None:
        with (self.folder / "log").open("ab") as log:
            command = ["bash", "-c", f"exec env {self._here(line)}"]
            process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        self.servers[line] = process

    def _run(self, command: Command) -> None:
        """Repeat a command until its output is the page's, with the revisions that earlier output of the page has."""
        shown = _lasting(self._here(command.output))

        def run() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["bash", "-c", self._here(command.line)],
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                text=True,
                check=False,
            )

        done = eventually_blocking(
            run,
            lambda done: fits(shown, _lasting(done.stdout), cut=False) if shown else done.returncode == 0,
            about=lambda: run().stdout,
        )
        for on_page, real in zip(REVISION.findall(command.output), REVISION.findall(done.stdout), strict=True):
            assert self.revisions.setdefault(on_page, real) == real

    def _here(self, text: str) -> str:
        return ADDRESS.sub(lambda found: self.addresses[found[0]], text)


def _lasting(text: str) -> list[str]:
    """The lines without revisions, sizes and ages."""
    return plain(AGE.sub("<age>", SIZE.sub("<size>", REVISION.sub("<revision>", text))))


@pytest.mark.long
@pytest.mark.needs("registry")
def test_the_tutorial(
    module_control_plane: ControlPlane,
    own_control_plane: ControlPlane,
    kubectl_path: Path,
    bridge_path: Path,
    opa_path: Path,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    planes = {"kind-east": module_control_plane, "kind-west": own_control_plane}
    paths = [str(path.parent) for path in (bridge_path, opa_path, kubectl_path)]
    environment = {
        **environment,
        "PATH": ":".join([*paths, environment["PATH"]]),
        "KUBECONFIG": str(merge_kubeconfigs(tmp_path, planes)),
    }
    addresses = {address: free_address() for address in ADDRESS.findall(PAGE.read_text())}
    for name in ("reader", "registry"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        registry = StorageServer("oci", tmp_path / "registry", addresses["127.0.0.1:5000"], auth=None)
        stack.enter_context(registry.running())
        reader = Reader(tmp_path / "reader", environment, addresses, stack)
        for step in steps(PAGE):
            reader.take(step)
        assert len(reader.revisions) == 5  # two views before and after the change, and the Rego
