"""A control plane for what is installed: a webhook configuration on the shared one would concern all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.tools import find
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of the module's own, without any CRD."""
    tools = {name: found.path for name in ("etcd", "kube-apiserver") if (found := find(name))}
    folder = tmp_path_factory.mktemp("control-plane")
    made = ControlPlane(folder, etcd=tools["etcd"], kube_apiserver=tools["kube-apiserver"])
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def kubectl(plane: ControlPlane, kubectl_path: Path) -> Kubectl:
    """What runs kubectl against it."""
    return Kubectl(kubectl_path, plane)
