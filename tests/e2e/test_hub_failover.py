"""Two bridges on one cluster store their view in one place: when the one with the Lease dies, the other one goes on."""

from __future__ import annotations

import functools
import json
import re
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from bridge.destinations.place import Stored
from bridge.destinations.urls import place_of
from bridge.opa.bundle import BUNDLE_NAME, edge_config
from bridge.opa.credentials import kept_credentials
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.serving import Serving, bridge_runs, fetch
from tests.e2e.test_several_clusters import OBJECTS
from tests.e2e.test_views import Fleet, about, query
from tests.eventually import equal_to, eventually, eventually_blocking
from tests.ports import free_address
from tests.storing import StorageServer

SERVICE = "core/Service/default/cart"


@pytest.mark.long
@pytest.mark.needs("versitygw")
async def test_edges_go_on_with_the_next_holder_of_the_lease(
    own_control_plane: ControlPlane,
    kubectl_path: Path,
    bridge_path: Path,
    opa_path: Path,
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kubectl = Kubectl(kubectl_path, own_control_plane)
    kubectl("apply", "--server-side", "-f", "-", text=OBJECTS.format(region="eu"))
    with ExitStack() as stack:
        server = stack.enter_context(StorageServer("s3", tmp_path).running())
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        environment = {**environment, **server.environment}
        place, trust = place_of(server.url("east")), kept_credentials(tmp_path / "keys").trust
        addresses = [free_address(), free_address()]
        hubs = [
            stack.enter_context(
                bridge_runs(
                    *(bridge_path, environment, tmp_path / f"hub-{number}.log", "--publish", "all"),
                    *("--publish-to", place.url, "--publish-credentials", tmp_path / "keys", "--cluster", "east"),
                    *("--publish-listen", address, "--listen", "127.0.0.1:0"),
                    *("--kubeconfig", own_control_plane.kubeconfig),
                )
            )
            for number, address in enumerate(addresses)
        ]
        config = edge_config("", trust, "all", source=place.source_of("all"))
        config["bundles"][BUNDLE_NAME]["polling"] = {"min_delay_seconds": 1, "max_delay_seconds": 1}
        edge, _ = Fleet(tmp_path, bridge_path, opa_path, environment, stack).start_edge("edge", config)
        storage = place.open()

        async def stored() -> Stored | None:
            return await storage.find("all.tar.gz")

        # The bridges have written their statuses, which are in the view.
        before = await eventually(stored)
        assert before
        known = await eventually(lambda: about(edge), lambda found: found["revision"] == before.revision)
        # Edges may go from one address to the other: both have the same revision, so they download nothing there.
        for address in addresses:
            eventually_blocking(functools.partial(_published, address, tmp_path / "keys"), equal_to(before.revision))
        [leader] = eventually_blocking(lambda: [hub for hub in hubs if _leads(hub)], lambda found: len(found) == 1)
        [other] = [hub for hub in hubs if hub is not leader]
        owner = await storage.find("_policy-bridge")
        leader.process.kill()
        eventually_blocking(lambda: _leads(other))
        await eventually(lambda: storage.find("_policy-bridge"), lambda found: found != owner)
        # The other bridge has the same revision, so it stores nothing, and the edge fetches nothing.
        assert (await stored(), about(edge)) == (before, known)

        patch = '{"spec": {"validation": {"hostname": "next.example.com"}}}'
        kubectl("patch", "backendtlspolicy", "tls", "-n", "default", "--type=merge", "-p", patch)
        eventually_blocking(lambda: "next.example.com" in str(query(edge, "effective", {"targets": [SERVICE]})))
        assert about(edge)["revision"] != known["revision"]


def _published(address: str, keys: Path) -> str:
    status, text = fetch(f"http://{address}/fleet", token=(keys / "token").read_text())
    return str(json.loads(text)["views"][0]["revision"]) if status == 200 else ""


def _leads(hub: Serving) -> bool:
    with urllib.request.urlopen(f"{hub.url}/metrics", timeout=180) as response:  # noqa: S310 (loopback)
        return bool(re.search(r"^policy_bridge_leader 1", response.read().decode(), re.MULTILINE))
