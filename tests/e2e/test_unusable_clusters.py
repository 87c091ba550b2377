"""Read commands on a cluster that does not answer, does not know the user, or does not serve Gateway API."""

from __future__ import annotations

from pathlib import Path

from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import Run


def test_a_cluster_without_gateway_api_is_named(bridge: Run, bare_control_plane: ControlPlane) -> None:
    plane = bare_control_plane
    answer = bridge("get", "httproutes", "--kubeconfig", plane.kubeconfig)
    assert answer.returncode == 2
    assert f"error: {plane.url}: the API server does not serve Gateway API: apply its CRDs" in answer.stderr
    assert f"kubeconfig {plane.kubeconfig}, context " in answer.stderr


def test_unknown_credentials_are_named_with_their_server(
    bridge: Run, control_plane: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "config", "wrong")
    answer = bridge("effective", "--kubeconfig", kubeconfig)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"error: {control_plane.url}: 401 Unauthorized")
    assert f"kubeconfig {kubeconfig}, context " in answer.stderr
    assert "renew the credentials there, or choose another --context" in answer.stderr


def test_a_server_that_does_not_answer_is_named_with_its_context(
    bridge: Run, control_plane: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "config", control_plane.token, "https://127.0.0.1:9")
    answer = bridge("effective", "--kubeconfig", kubeconfig)
    assert answer.returncode == 2
    assert answer.stderr.count("https://127.0.0.1:9") == 1
    assert f"kubeconfig {kubeconfig}, context " in answer.stderr
    assert "check the server there, or choose another --context" in answer.stderr
