import json
import stat
from pathlib import Path
from typing import Any

import pytest

from bridge.kube import kube_client as module
from bridge.kube.kube_client import KubeClient, load_access
from bridge.kube.kube_errors import ConfigurationError
from tests.controlplane.pods import service_account


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the user's kubeconfig nor a cluster."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pod's service account; gives the file of its token, which is `first`."""
    return service_account(monkeypatch, tmp_path / "account", "https://127.0.0.1:1", "first", b"a certificate")


def kubeconfig(folder: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Path:
    path = folder / "kubeconfig"
    content = {
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1", **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u"}},
            {"name": "there", "context": {"cluster": "missing", "user": "u"}},
        ],
    }
    path.write_text(json.dumps(content))
    return path


async def test_no_kubeconfig_is_one_line_that_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await load_access()
    place = tmp_path / "home" / ".kube" / "config"
    assert str(caught.value) == f"no kubeconfig at {place}: name one with --kubeconfig or $KUBECONFIG"


@pytest.mark.parametrize("text", ["{", "", "[]", "a: b", "contexts: 1\ncurrent-context: x"])
async def test_a_broken_kubeconfig_is_one_line_that_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=f"^kubeconfig {path} cannot be used: .+$"):
        await load_access(path)


async def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"kubeconfig {tmp_path} cannot be read: Is a directory"):
        await load_access(tmp_path)


async def test_an_unknown_context_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nowhere"):
        await load_access(kubeconfig(tmp_path, {"token": "t"}), context="nowhere")


async def test_the_environment_names_the_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kubeconfig(tmp_path, {"token": "t"})
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{path}")
    access = await load_access()
    assert access.configuration.host == "https://127.0.0.1:1"
    assert await access.authorization() == "Bearer t"


async def test_tls_is_always_verified(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "t"}, {"insecure-skip-tls-verify": True})
    with pytest.raises(ConfigurationError, match="insecure-skip-tls-verify"):
        await load_access(path)


async def test_invalid_certificates_are_reported(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("no certificate")
    path = kubeconfig(tmp_path, {"token": "t"}, {"certificate-authority": str(tmp_path / "ca.crt")})
    with pytest.raises(ConfigurationError, match=r"certificates of kubeconfig .* cannot be used"):
        await KubeClient.connect(path)


@pytest.mark.parametrize("source", ["a kubeconfig", "a pod"])
async def test_a_token_is_read_again_when_it_was_refused_and_from_time_to_time(
    tmp_path: Path, pod: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """The library writes a pod's scheme in lower case."""
    scheme = "bearer" if source == "a pod" else "Bearer"
    access = await load_access(None if source == "a pod" else kubeconfig(tmp_path, {"tokenFile": str(pod)}))
    assert (access.origin == "the pod's service account") is (source == "a pod")
    assert await access.authorization() == f"{scheme} first"
    pod.write_text("second\n")
    assert await access.authorization() == f"{scheme} first"
    monkeypatch.setattr(module, "CREDENTIALS", 0.0)
    access.refused()
    assert await access.authorization() == f"{scheme} second"
    pod.write_text("third")
    assert await access.authorization() == f"{scheme} third"


async def test_a_plugin_runs_again_only_when_its_token_was_refused(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(
        "#!/bin/sh\n"
        f"echo x >> {tmp_path}/runs\n"
        f"count=$(wc -l < {tmp_path}/runs)\n"
        """printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential","""
        """ "status": {"token": "number-%d"}}' "$count"\n"""
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    user = {"exec": {"command": str(plugin), "apiVersion": "client.authentication.k8s.io/v1"}}
    access = await load_access(kubeconfig(tmp_path, user))
    assert [await access.authorization() for _ in range(3)] == ["Bearer number-1"] * 3
    access.refused()
    assert [await access.authorization() for _ in range(3)] == ["Bearer number-2"] * 3


async def test_a_plugin_that_fails_is_named(tmp_path: Path) -> None:
    user = {"exec": {"command": "/bin/false", "apiVersion": "client.authentication.k8s.io/v1"}}
    with pytest.raises(ConfigurationError, match=r"/bin/false, .* provided no credentials: run it manually"):
        await load_access(kubeconfig(tmp_path, user))


async def test_a_missing_source_of_credentials_is_reported(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    access = await load_access(kubeconfig(tmp_path, {"tokenFile": str(token)}))
    token.unlink()
    access.refused()
    with pytest.raises(ConfigurationError, match="no longer provides credentials"):
        await access.authorization()
