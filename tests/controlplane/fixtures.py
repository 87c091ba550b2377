"""Fixtures: the executables, and a control plane with Gateway API's CRDs.

With pytest-xdist each worker has a control plane of its own.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hack.tools import find
from hack.tools.vendor_crds import find_crds
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane

Apply = Callable[[str], None]


@pytest.fixture(scope="session")
def opa_path() -> Path:
    """The opa executable."""
    return _tool("opa")


@pytest.fixture(scope="session")
def kubectl_path() -> Path:
    """The kubectl executable."""
    return _tool("kubectl")


@pytest.fixture(scope="session")
def gateway_api_crds() -> Path:
    """The folder with `standard/` and `experimental/`, one CRD a file."""
    folder = find_crds()
    if folder is None:
        pytest.fail("the Gateway API CRDs are missing: `make setup-test` gets them", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory, gateway_api_crds: Path) -> Iterator[ControlPlane]:
    """A control plane with Gateway API's CRDs (experimental, which contains standard), shared by all tests."""
    yield from _running(tmp_path_factory.mktemp("control-plane"), gateway_api_crds)


@pytest.fixture(scope="module")
def module_control_plane(tmp_path_factory: pytest.TempPathFactory, gateway_api_crds: Path) -> Iterator[ControlPlane]:
    """A control plane for the tests of one file that leave many objects behind."""
    yield from _running(tmp_path_factory.mktemp("control-plane"), gateway_api_crds)


@pytest.fixture
def own_control_plane(tmp_path: Path, gateway_api_crds: Path) -> Iterator[ControlPlane]:
    """A control plane for one test that stops parts of it."""
    yield from _running(tmp_path / "control-plane", gateway_api_crds)


@pytest.fixture
def bare_control_plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane for one test that stops parts of it and needs no CRDs, which take most of the start."""
    yield from _running(tmp_path / "control-plane", None)


@pytest.fixture
def kubectl_apply(control_plane: ControlPlane, kubectl_path: Path) -> Apply:
    """A function that applies YAML text to the shared control plane with kubectl."""
    kubectl = Kubectl(kubectl_path, control_plane)

    def apply(text: str) -> None:
        kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=text)

    return apply


def _running(folder: Path, crds: Path | None) -> Iterator[ControlPlane]:
    plane = ControlPlane(folder, etcd=_tool("etcd"), kube_apiserver=_tool("kube-apiserver"))
    try:
        plane.start()
        if crds:
            plane.api.apply_crds(crds / "experimental")
        yield plane
    finally:
        plane.stop()


def _tool(name: str) -> Path:
    found = find(name)
    if found is None:
        pytest.fail(f"{name} is missing: `make setup-test` gets it", pytrace=False)
    return found.path
