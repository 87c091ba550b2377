"""A clone that was set up as README.md says, and a user at a terminal in it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.tools import find
from tests.controlplane.plane import ControlPlane
from tests.documented import ROOT
from tests.journeys.reader import Reader
from tests.ports import free_port
from tests.web.conftest import browser, executable, page

__all__ = ["browser", "clone", "cluster", "executable", "page", "reader"]

_SETTING_UP = 900  # seconds


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the commit that is checked out here, set up once for all journeys."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a clone")
    folder = tmp_path_factory.mktemp("journeys") / "policy-bridge"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    done = subprocess.run(
        ["make", "setup"],
        cwd=folder,
        env=_environment({}),
        capture_output=True,
        text=True,
        timeout=_SETTING_UP,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def reader(clone: Path, tmp_path: Path) -> Iterator[Reader]:
    """A user in the clone, as it was after the set-up."""
    for undo in (["checkout", "--quiet", "."], ["clean", "-fdq"]):
        subprocess.run(["git", *undo], cwd=clone, check=True)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("kubectl", "helm", "opa"):  # a user of a cluster has them
        found = find(name)
        assert found is not None, name
        (tools / name).symlink_to(found.path)
    environment = _environment({"HOME": str(tmp_path), "NO_COLOR": "1"})
    environment |= {"PATH": f"{tools}:{environment['PATH']}", "XDG_CACHE_HOME": str(Path.home() / ".cache")}
    made = Reader(clone, environment, tmp_path)
    # The documented ports may be other programs' here.
    made.replaced |= {port: str(free_port()) for port in ("8181", "9443")}
    yield made
    made.kill()


@pytest.fixture
def cluster(own_control_plane: ControlPlane, reader: Reader) -> ControlPlane:
    """A cluster with Gateway API's CRDs, which the user's kubectl uses."""
    reader.type(f"export KUBECONFIG={own_control_plane.kubeconfig}")
    return own_control_plane


def _environment(more: dict[str, str]) -> dict[str, str]:
    """The environment of a login: nothing of the tests' own Python, and no bridge, OPA or cluster."""
    ours = str(Path(sys.executable).parent)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"KUBECONFIG", "VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
        and not name.startswith("BRIDGE_OPA")
    }
    paths = [one for one in kept["PATH"].split(":") if one != ours]
    return kept | {"PATH": ":".join(paths), "BRIDGE_LISTEN": "127.0.0.1:0"} | more
