"""`/metrics` of a bridge at work on a cluster, at an address that serves nothing but it and the probes."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.telemetry.metrics import FAMILIES
from tests.controlplane.plane import ControlPlane
from tests.e2e.serving import bridge_starts, fetch
from tests.eventually import eventually_blocking
from tests.integration.api_objects import fresh_name

pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
_SAMPLE = re.compile(r"^(policy_bridge_[a-z_]+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? (\S+)$")


@pytest.fixture
def at_work(
    control_plane: ControlPlane, bridge_path: Path, environment: dict[str, str], tmp_path: Path, unused_tcp_port: int
) -> Iterator[str]:
    """Where a ready bridge serves its probes."""
    probes = f"127.0.0.1:{unused_tcp_port}"
    addresses = ("--listen", "127.0.0.1:0", "--probe-listen", probes)
    options, log = ("--kubeconfig", control_plane.kubeconfig, *addresses), tmp_path / "log"
    lease = {"BRIDGE_LEASE_NAME": fresh_name("lease")}
    with bridge_starts(bridge_path, environment, log, *options, **lease):
        url = f"http://{probes}"
        eventually_blocking(lambda: fetch(f"{url}/readyz")[0] == 200, about=log.read_text)
        yield url


def _samples(page: str) -> dict[str, dict[str, float]]:
    """By family, by labels in their exposed form."""
    found: dict[str, dict[str, float]] = {}
    for line in page.splitlines():
        if match := _SAMPLE.match(line):
            found.setdefault(match[1], {})[match[2] or ""] = float(match[3])
    return found


def test_metrics_are_those_of_the_reference_and_follow_events(control_plane: ControlPlane, at_work: str) -> None:
    name = fresh_name("metered")
    before = _samples(fetch(f"{at_work}/metrics")[1])
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    control_plane.api.apply(f"/api/v1/namespaces/{name}", namespace)
    deadline = time.monotonic() + PATIENCE
    while True:
        page = fetch(f"{at_work}/metrics")[1]
        after = _samples(page)
        namespaces = 'type="core/Namespace"'
        seen = after["policy_bridge_replicated_objects"][namespaces]
        late = after["policy_bridge_replication_lag_seconds"]['le="+Inf"']
        if seen > before["policy_bridge_replicated_objects"][namespaces] and late >= 1:
            break
        assert time.monotonic() < deadline, page
        time.sleep(0.1)
    assert after.keys() <= {family.exposed for family in FAMILIES}
    assert after["policy_bridge_listings_total"]['reason="first"'] > 10
    assert after["policy_bridge_opa_syncs_total"]['reason="start"'] == 1
    assert name not in page


def test_metrics_are_nowhere_else_and_nothing_but_probes_and_metrics_is_there(at_work: str, tmp_path: Path) -> None:
    found = re.search(r"bridge=(http://\S+)", (tmp_path / "log").read_text())
    assert found
    probes = {"/livez": 200, "/readyz": 200}
    others = {"/": 404, "/api/topology": 404, "/v1/bundles/bridge": 404}
    for address, wanted in ((found[1], {**probes, "/metrics": 404}), (at_work, {**probes, "/metrics": 200, **others})):
        assert {path: fetch(f"{address}{path}")[0] for path in wanted} == wanted
