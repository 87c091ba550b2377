"""`pbctl run` on a cluster with objects that are nested thousands of levels deep: it works, and reports them."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.serving import bridge_runs, fetch
from tests.eventually import eventually_blocking
from tests.integration.api_objects import crd

pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
GROUP = "deep.example.com"
THINGS = f"/apis/{GROUP}/v1/namespaces/default/things"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def _thing(name: str, depth: int) -> str:
    head = f'"apiVersion":"{GROUP}/v1","kind":"Thing","metadata":{{"name":"{name}"}}'
    return f'{{{head},"spec":' + '{"a":' * (depth - 1) + "1" + "}" * depth


@pytest.fixture
def plane(own_control_plane: ControlPlane) -> ControlPlane:
    """A control plane with a good thing, one that Python 3.11 cannot decode, and one that none can."""
    api, kind = own_control_plane.api, crd("things", "Thing", group=GROUP)
    api.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{GROUP}", kind)
    api.wait_for_crds({f"things.{GROUP}"})
    for name, depth in (("good", 2), ("deep", 970), ("deepest", 9_900)):
        api.request("POST", THINGS, _thing(name, depth))
    return own_control_plane


def test_bridge_starts_and_restarts_beside_objects_that_are_too_deep(
    plane: ControlPlane, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"types:\n- type: {GROUP}/Thing\n")
    arguments = ("--kubeconfig", plane.kubeconfig, "--config", settings, "--listen", "127.0.0.1:0")
    for start in ("first", "second"):
        with bridge_runs(bridge_path, environment, tmp_path / "log", *arguments) as bridge:
            plane.api.request("POST", THINGS, _thing(start, 2))
            count = f'policy_bridge_replicated_objects{{type="{GROUP}/Thing"}} {2.0 if start == "first" else 3.0}'
            metrics = eventually_blocking(partial(_metrics, bridge.url), partial(_has, count))
            assert f'policy_bridge_rejected_objects{{type="{GROUP}/Thing"}} 2.0' in metrics
            assert "objects rejected" in (tmp_path / "log").read_text()
            eventually_blocking(lambda: _reported(plane), lambda told: "deepest" in dict(told))
            assert bridge.process.poll() is None
    assert {name for name, _ in _reported(plane)} == {"deep", "deepest"}
    assert all("nested more than 200 levels deep" in note for _, note in _reported(plane))


def _reported(plane: ControlPlane) -> list[tuple[str, str]]:
    found: list[dict[str, Any]] = plane.api.get(EVENTS)["items"]
    return [(one["regarding"]["name"], one["note"]) for one in found if one["reason"] == "NotReplicated"]


def _metrics(url: str) -> str:
    return fetch(f"{url}/metrics")[1]


def _has(line: str, page: str) -> bool:
    return line in page
