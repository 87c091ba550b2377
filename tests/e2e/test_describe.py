"""`pbctl describe` and `pbctl problems` on the example, and on a cluster."""

import json

import pytest

from tests.controlplane.fixtures import Apply
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ROOT, SHOP, Run

NAME = "describe-a-cluster"
OBJECTS = f"""\
apiVersion: v1
kind: Namespace
metadata: {{name: {NAME}}}
---
apiVersion: v1
kind: Service
metadata: {{name: cart, namespace: {NAME}}}
spec: {{ports: [{{name: http, port: 80}}]}}
---
apiVersion: v1
kind: Event
metadata: {{name: cart.1, namespace: {NAME}}}
involvedObject: {{apiVersion: v1, kind: Service, namespace: {NAME}, name: cart}}
reason: Tested
message: an event that kubectl shows, too
type: Normal
count: 3
lastTimestamp: "2026-01-01T00:00:00Z"
source: {{component: a-test}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: {NAME}, namespace: {NAME}, labels: {{openpolicyagent.org/policy: rego}}}}
data:
  broken.rego: |
    package acme.described
    allow := unknown_function(1)
"""


def test_route_is_described_with_its_place_policies_and_effective_policies(shop: Run) -> None:
    answer = shop("describe", "httproute", "cart", "-n", "shop", "-o", "json")
    found = json.loads(answer.stdout)
    gateway = "gateway.networking.k8s.io/Gateway/infra"
    assert found["parents"] == [f"{gateway}/internal#http", f"{gateway}/public#https"]
    assert sorted(found["children"]) == ["core/Service/payments/ledger", "core/Service/shop/cart"]
    assert [policy["policy"] for policy in found["policies"]["attached"]] == [
        "example.com/ColorPolicy/shop/cart",
        "example.com/ColorPolicy/shop/checkout",
    ]
    assert {policy["policy"] for policy in found["policies"]["inherited"]} == {
        "example.com/ColorPolicy/infra/accessibility",
        "example.com/ColorPolicy/infra/brand",
        "example.com/ColorPolicy/infra/internal-tools",
    }


def test_service_is_described_with_the_rules_that_lead_to_it_and_their_effective_policies(shop: Run) -> None:
    found = json.loads(shop("describe", "svc/cart", "-n", "shop", "-o", "json").stdout)
    rules = [f"gateway.networking.k8s.io/HTTPRoute/shop/{name}" for name in ("admin#[0]", "cart#[2]", "cart#checkout")]
    assert [*rules, "gateway.networking.k8s.io/HTTPRoute/shop/cart#view"] == found["parents"]
    assert {entry["target"] for entry in found["effective"]} == set(found["parents"])
    assert "example.com/ColorPolicy/infra/brand" in {policy["policy"] for policy in found["policies"]["inherited"]}


def test_workload_that_does_not_exist_is_not_found_instead_of_an_unknown_kind(shop: Run) -> None:
    answer = shop("describe", "deployment/nothing", "-n", "shop")
    assert answer.returncode == 2
    assert "error: deployment/nothing is not found in namespace shop" in answer.stderr


def test_policy_is_explained_by_its_status_and_impact(shop: Run) -> None:
    for command in ("describe", "explain"):
        answer = shop(command, "colorpolicy/infra/brand")
        assert (answer.returncode, answer.stderr) == (0, "")
        assert "PartiallyProgrammed on 9, Programmed on 1" in answer.stdout
        assert "Expected status" in answer.stdout


def test_kind_alone_describes_all_its_objects(shop: Run) -> None:
    answer = shop("describe", "gateways", "-o", "name")
    assert answer.returncode == 0
    assert answer.stdout.split() == [f"gateway.gateway.networking.k8s.io/{name}" for name in ("internal", "public")]


def test_problems_are_listed_with_file_and_line(bridge: Run, shop: Run) -> None:
    answer = bridge("problems", "-n", "payments", "--manifests", SHOP)
    assert answer.returncode == 1
    assert "NotAllowedByListeners" in answer.stdout
    assert "examples/shop/46-route-callbacks.yaml:3" in answer.stdout
    none = shop("problems", "svc", "cart", "-n", "shop")
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "No problems found.\n")


@pytest.mark.long
def test_rejected_rego_of_others_is_one_warning_and_events_are_shown(
    bridge: Run, control_plane: ControlPlane, kubectl_apply: Apply
) -> None:
    kubectl_apply(OBJECTS)
    where = ("--kubeconfig", control_plane.kubeconfig)
    more = {"BRIDGE_POLICY_NAMESPACES": NAME}
    answer = bridge("describe", "svc/cart", "-n", NAME, *where, more=more)
    assert answer.returncode == 0
    warning = f"warning: rejected Rego is not included in this result: ConfigMap/{NAME}/{NAME}"
    assert [line for line in answer.stderr.splitlines() if line.startswith(warning)] == answer.stderr.splitlines()
    assert "an event that kubectl shows, too" in answer.stdout
    assert "(x3)" in answer.stdout
    modules = bridge("get", "modules", *where, more=more)
    assert modules.returncode == 0
    assert [line.split()[:4] for line in modules.stdout.splitlines() if NAME in line] == [
        [NAME, NAME, "ConfigMap", "Rejected"]
    ]
    for command in (("effective",), ("get", "policies"), ("status",)):
        assert bridge(*command, *where, more=more).returncode == 0, command


def test_gateway_that_a_full_status_leaves_out_is_described_with_the_policy(bridge: Run) -> None:
    objects = ROOT / "tests/scenarios/ancestors_more_than_sixteen/objects.yaml"
    manifests = ("-n", "ancestors-full", "--manifests", objects)
    assert "AncestorNotReported (warning)" in bridge("describe", "gateway/g18", *manifests).stdout
    assert "AncestorNotReported" not in bridge("describe", "gateway/g16", *manifests).stdout
