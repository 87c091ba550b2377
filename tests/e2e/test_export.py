"""`pbctl admin export`: the health checks run as Argo CD runs them, on statuses that the bridge computes."""

import json
from typing import Any

import pytest
import yaml
from lupa import lua51

from tests.e2e.conftest import ROOT, Run

SHOP = ROOT / "examples" / "shop"
HEALTH = "resource.customizations.health."


@pytest.fixture(scope="module")
def checks(bridge: Run) -> dict[str, str]:
    """Health checks of the example's policy kinds, by `<group>_<Kind>`."""
    document = yaml.safe_load(bridge("admin", "export", "argocd", "--manifests", str(SHOP)).stdout)
    assert (document["kind"], document["metadata"]["name"]) == ("ConfigMap", "argocd-cm")
    return {name.removeprefix(HEALTH): text for name, text in document["data"].items()}


@pytest.fixture(scope="module")
def policies(bridge: Run) -> dict[str, dict[str, Any]]:
    """The example's policies with their statuses, by kind and name."""
    found = json.loads(bridge("status", "--manifests", str(SHOP), "-o", "json").stdout)
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in found}


def _health(check: str, obj: dict[str, Any]) -> str:
    lua = lua51.LuaRuntime()  # the version of Argo CD
    lua.globals().obj = lua.table_from(obj, recursive=True)
    return str(lua.execute(check)["status"])


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("ColorPolicy/accessibility", "Healthy"),
        ("ColorPolicy/brand", "Healthy"),  # partly overridden
        ("ColorPolicy/admin", "Suspended"),  # overridden
        ("ColorPolicy/summer-sale", "Degraded"),  # its target does not exist
        ("TimeoutPolicy/ledger", "Healthy"),  # in status.ancestors
        ("TimeoutPolicy/catalog-again", "Degraded"),
    ],
)
def test_health_check_reads_the_outcome_of_a_policy(
    checks: dict[str, str], policies: dict[str, dict[str, Any]], name: str, status: str
) -> None:
    check = checks[f"example.com_{name.partition('/')[0]}"]
    assert _health(check, policies[name]) == status


def test_health_check_waits_for_a_status_of_this_generation(
    checks: dict[str, str], policies: dict[str, dict[str, Any]]
) -> None:
    check, policy = checks["example.com_ColorPolicy"], policies["ColorPolicy/accessibility"]
    assert _health(check, {**policy, "status": {}}) == "Progressing"
    newer = {**policy, "metadata": {**policy["metadata"], "generation": 2}}
    assert _health(check, newer) == "Progressing"


def test_health_check_of_a_kind_without_a_policykind_is_a_preset(bridge: Run) -> None:
    document = yaml.safe_load(bridge("admin", "export", "argocd").stdout)
    assert f"{HEALTH}gateway.envoyproxy.io_SecurityPolicy" in document["data"]


def test_metrics_read_the_conditions_of_each_kind(bridge: Run) -> None:
    document = yaml.safe_load(bridge("admin", "export", "kube-state-metrics", "--manifests", str(SHOP)).stdout)
    assert document["kind"] == "CustomResourceStateMetrics"
    colors, timeouts = document["spec"]["resources"]
    assert colors["groupVersionKind"] == {"group": "example.com", "version": "v1", "kind": "ColorPolicy"}
    gauge = colors["metrics"][0]["each"]["gauge"]
    assert (gauge["path"], gauge["valueFrom"]) == (["status", "conditions"], ["status"])
    assert [one["name"] for one in timeouts["metrics"]] == ["accepted", "programmed"]
    gauge = timeouts["metrics"][1]["each"]["gauge"]
    assert gauge["valueFrom"] == ["conditions", "[type=Programmed]", "status"]
    # A policy may have an ancestor for each section of a Gateway: all fields of the ref distinguish the series.
    assert gauge["labelsFromPath"] == {"ancestor_*": ["ancestorRef"], "controller": ["controllerName"]}
