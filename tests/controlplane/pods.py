"""Run a test's process as if it were in a pod."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from kubernetes.aio.config import incluster_config

from bridge.kube import kube_client as module


def service_account(
    monkeypatch: pytest.MonkeyPatch, folder: Path, url: str, token: str, certificate_authority: bytes
) -> Path:
    """Set up this process like one in a pod with a service account, and return its token file."""
    folder.mkdir()
    files = {"token": token.encode(), "ca.crt": certificate_authority}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    parts = urlsplit(url)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(parts.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(parts.port))
    monkeypatch.setattr(module, "_SERVICE_ACCOUNT_TOKEN", folder / "token")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(folder / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(folder / "ca.crt"))
    return folder / "token"
