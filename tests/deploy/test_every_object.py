"""A webhook for every object without a running bridge: the cluster's own components keep working."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bridge.cli.main import pbctl
from tests.controlplane.api import ApiError
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually_blocking
from tests.integration.api_objects import crd

pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/policy-bridge"
STORAGE = "/apis/storage.k8s.io/v1"
CALICO = "/apis/crd.projectcalico.org/v1"
GOES_ON: dict[str, dict[str, Any]] = {
    f"{STORAGE}/csinodes": {"spec": {"drivers": []}},
    f"{STORAGE}/csidrivers": {"spec": {}},
    f"{CALICO}/ipamblocks": {"apiVersion": "crd.projectcalico.org/v1", "kind": "IPAMBlock"},
    "/api/v1/nodes": {},
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {},
}
WAITS: dict[str, dict[str, Any]] = {
    f"{STORAGE}/storageclasses": {"provisioner": "example.com/disks"},
    f"{CALICO}/globalnetworkpolicies": {"apiVersion": "crd.projectcalico.org/v1", "kind": "GlobalNetworkPolicy"},
    "/api/v1/namespaces/default/configmaps": {},
}


@pytest.fixture(scope="module")
def no_bridge_answers(plane: ControlPlane) -> Iterator[ControlPlane]:
    """What `pbctl admin webhook-config` prints, for policies that exist, and nothing where it leads."""
    for plural, kind in (("ipamblocks", "IPAMBlock"), ("globalnetworkpolicies", "GlobalNetworkPolicy")):
        plane.api.apply(
            f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.crd.projectcalico.org",
            crd(plural, kind, group="crd.projectcalico.org", scope="Cluster"),
        )
        plane.api.wait_for_crds({f"{plural}.crd.projectcalico.org"})
    printed = CliRunner().invoke(pbctl, ["webhook-config", "--url", "https://127.0.0.1:1/admission"])
    assert printed.exit_code == 0, printed.output
    configuration = next(yaml.safe_load_all(printed.stdout))
    configuration["webhooks"][0]["failurePolicy"] = "Fail"
    plane.api.apply(CONFIGURATION, configuration)
    eventually_blocking(lambda: _waits(plane), patience=PATIENCE)  # the API server learns it by a watch
    yield plane
    plane.api.request("DELETE", CONFIGURATION)


@pytest.mark.parametrize("path", WAITS)
def test_a_request_that_policies_may_be_about_fails_while_no_bridge_answers(
    no_bridge_answers: ControlPlane, path: str
) -> None:
    with pytest.raises(ApiError, match="failed calling webhook"):
        _try(no_bridge_answers, path, WAITS[path])


@pytest.mark.parametrize("path", GOES_ON)
def test_prerequisites_of_the_bridges_pods_keep_working(no_bridge_answers: ControlPlane, path: str) -> None:
    _try(no_bridge_answers, path, GOES_ON[path])


def _waits(plane: ControlPlane) -> bool:
    try:
        _try(plane, "/api/v1/namespaces/default/configmaps", {})
    except ApiError:
        return True
    return False


def _try(plane: ControlPlane, path: str, obj: dict[str, Any]) -> None:
    plane.api.request("POST", f"{path}?dryRun=All", {**obj, "metadata": {"name": "tried"}})
