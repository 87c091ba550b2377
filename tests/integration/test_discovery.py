"""The resources that a real API server serves."""

import pytest

from bridge.kube import discovery
from bridge.kube.discovery import Discovery
from bridge.kube.kube_client import KubeClient
from bridge.kube.kube_errors import Garbled


async def test_an_older_server_is_an_error_that_names_the_needed_version(
    client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "_AGGREGATED", "application/json")  # an API server before 1.26 knows nothing else
    with pytest.raises(Garbled, match=r"the answer to /api is not that of Kubernetes 1.27 or newer"):
        await Discovery(client).refresh()
