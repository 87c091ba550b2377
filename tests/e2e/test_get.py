"""`pbctl get` on the example."""

import json
from pathlib import Path

import pytest
import yaml

from tests.builders import resource, service
from tests.e2e.conftest import SHOP, Run
from tests.integration.test_modules_and_links import FAILS_ON_ONE, odd

LABELLED = """\
apiVersion: example.com/v1
kind: TimeoutPolicy
metadata: {name: odd, namespace: shop, labels: {team: <b>}, creationTimestamp: "2020-01-01T00:00:00Z"}
spec: {targetRefs: [{group: "", kind: Service, name: cart}], request: 3s}
---
apiVersion: v1
kind: Service
metadata: {name: labelled, namespace: shop, labels: {team: web}}
spec: {ports: [{port: 80}]}
---
apiVersion: example.com/v1
kind: TimeoutPolicy
metadata: {name: labelled, namespace: shop, labels: {team: web}}
spec: {targetRefs: [{group: "", kind: Service, name: labelled}], request: 3s}
"""

MODULES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: good, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  good.rego: |
    package acme.good
    allow := true
---
apiVersion: v1
kind: ConfigMap
metadata: {name: broken, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  broken.rego: |
    package acme.broken
    allow := unknown_function(1)
"""


def test_targets_without_a_policy_or_a_field_of_it(shop: Run) -> None:
    answer = shop("get", "targets", "--without", "timeoutpolicy", "-n", "shop", "-o", "name")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "core/Service/shop/cart#http" in answer.stdout.splitlines()
    assert "core/Service/shop/catalog#http" not in answer.stdout.splitlines()
    answer = shop("get", "targets", "--without", "timeoutpolicy.spec.idle", "-n", "shop", "-o", "name")
    assert "core/Service/shop/catalog#http" in answer.stdout.splitlines()
    assert "Service/shop/catalog" in shop("get", "targets", "--without", "backendtlspolicy").stdout  # of a preset


def test_labels_select_policies_and_targets(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "labelled.yaml"
    file.write_text(LABELLED)
    manifests = ("--manifests", str(SHOP), str(file))
    policies = bridge("get", "policy", "-l", "team in (web)", "-o", "name", *manifests)
    assert policies.stdout == "timeoutpolicy.example.com/labelled\n"
    targets = bridge("get", "targets", "-l", "team=web", "-o", "name", *manifests)
    assert targets.stdout.splitlines() == ["core/Service/shop/labelled", "core/Service/shop/labelled#80"]
    none = bridge("get", "policies", "-l", "team=none", *manifests)
    assert (none.returncode, none.stdout) == (2, "")
    assert "-l selects no object" in none.stderr
    aged = bridge("get", "policies", "-n", "shop", *manifests).stdout
    assert "AGE" in aged.splitlines()[0]


def test_policy_kinds_name_their_sources(bridge: Run, shop: Run, tmp_path: Path) -> None:
    of_the_shop = shop("get", "pk", "-o", "name").stdout.split()
    assert of_the_shop == ["example.com/ColorPolicy", "example.com/TimeoutPolicy"]
    listed = json.loads(shop("get", "pk", "--all", "-o", "json").stdout)
    sources = {entry["policyKind"]: entry["source"] for entry in listed}
    assert sources["example.com/ColorPolicy"] == ["discovered", "PolicyKind"]
    assert shop("get", "pk", "colorpolicies.example.com", "-o", "name").stdout == "example.com/ColorPolicy\n"
    assert sources["gateway.networking.k8s.io/BackendTLSPolicy"] == ["preset"]
    wrong = tmp_path / "kind.yaml"
    wrong.write_text(
        "apiVersion: policybridge.io/v1alpha1\nkind: PolicyKind\nmetadata: {name: a.b}\n"
        "spec: {group: b, kind: A, class: Inherited, defaultStrategy: None}\n"
    )
    reported = bridge("get", "policykinds", "--manifests", wrong)
    assert reported.returncode == 2
    assert any(line.split()[:1] == ["a.b"] and " False " in line for line in reported.stdout.splitlines())


def test_several_lists_are_printed_with_commas(shop: Run) -> None:
    both = shop("get", "gateways,routes", "-n", "infra", "-o", "name").stdout
    assert both == shop("get", "gateways", "-n", "infra", "-o", "name").stdout + (
        shop("get", "routes", "-n", "infra", "-o", "name").stdout
    )
    assert shop("get", "gateways,policies", "-n", "infra", "--no-headers").stdout.split()[:2] == ["infra", "internal"]


def test_lists_are_sorted_by_a_field(shop: Run) -> None:
    names = shop("get", "policies", "--sort-by", "{.metadata.name}", "--no-headers").stdout.splitlines()
    assert [line.split()[1] for line in names] == sorted(line.split()[1] for line in names)
    numbers = json.loads(shop("get", "policies", "--sort-by", ".scopes.affected", "-o", "json").stdout)
    assert [one["scopes"]["affected"] for one in numbers] == sorted(one["scopes"]["affected"] for one in numbers)
    assert "is not a path" in shop("get", "policies", "--sort-by", "{.metadata[").stderr


@pytest.mark.parametrize(
    "name", ["brand", "infra/brand", "ColorPolicy/infra/brand", "example.com/ColorPolicy/infra/brand"]
)
def test_policy_is_listed_by_each_of_its_names(shop: Run, name: str) -> None:
    assert shop("get", "policies", name, "-o", "name").stdout == "colorpolicy.example.com/brand\n"


def test_routes_are_listed_with_their_hostnames_parents_and_policies(shop: Run) -> None:
    answer = shop("get", "routes", "-n", "shop")
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert lines[0].split() == ["NAMESPACE", "NAME", "HOSTNAMES", "PARENTS", "POLICIES"]
    assert "infra/public#https,infra/internal" in lines[2]
    assert "ColorPolicy/shop/cart, ColorPolicy/shop/checkout on #checkout" in lines[2]


def test_gateways_are_listed_with_the_number_of_their_routes(shop: Run) -> None:
    lines = shop("get", "gtw").stdout.splitlines()
    assert lines[0].split() == ["NAMESPACE", "NAME", "CLASS", "ADDRESSES", "PORTS", "PROGRAMMED", "ROUTES", "POLICIES"]
    assert [line.split()[1:7] for line in lines[1:]] == [
        ["internal", "example", "<none>", "8080", "Unknown", "3"],
        ["public", "example", "<none>", "80,443", "Unknown", "5"],
    ]


def test_policies_of_a_kind_are_listed_by_the_kinds_name(shop: Run) -> None:
    answer = shop("get", "colorpolicies", "-n", "shop", "-o", "name")
    assert answer.stdout.splitlines()[0] == "colorpolicy.example.com/admin"
    one = shop("get", "cp", "cart", "-n", "shop", "-o", "custom-columns=NAME:.policy,TO:.targets[0]")
    assert [line.split() for line in one.stdout.splitlines()] == [
        ["NAME", "TO"],
        ["example.com/ColorPolicy/shop/cart", "HTTPRoute/cart"],
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["routes", "cart", "-n", "shop"], ["gateway.networking.k8s.io/v1", "HTTPRoute", "shop", "cart"]),
        (["svc/ledger"], ["v1", "Service", "payments", "ledger"]),
        (["gatewayclasses"], ["gateway.networking.k8s.io/v1", "GatewayClass", "<none>", "example"]),
        (["policies", "cart", "-n", "shop"], ["example.com/v1", "ColorPolicy", "shop", "cart"]),
        (
            ["policykinds", "example.com/ColorPolicy"],
            [
                "policybridge.io/v1alpha1",
                "PolicyKind",
                "<none>",
                "colorpolicies.example.com",
            ],
        ),
        (["targets", "-n", "payments", "--kind", "timeoutpolicies"], ["v1", "Service", "payments", "ledger"]),
    ],
)
def test_items_have_the_fields_that_kubectl_uses_for_names(shop: Run, words: list[str], expected: list[str]) -> None:
    template = "custom-columns=V:.apiVersion,K:.kind,NS:.metadata.namespace,NAME:.metadata.name"
    answer = shop("get", *words, "-o", template)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.splitlines()[1].split() == expected


def test_modules_have_the_fields_of_their_objects(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "modules.yaml"
    file.write_text(MODULES)
    template = "jsonpath={.items[0].apiVersion} {.items[0].kind} {.items[0].metadata.name}"
    assert bridge("get", "modules", "-o", template, "--manifests", file).stdout.strip() == "v1 ConfigMap broken"
    assert bridge("get", "modules", "-o", "name", "--manifests", file).stdout == "configmap/broken\nconfigmap/good\n"


def test_names_are_those_of_kubectl(shop: Run) -> None:
    routes = shop("get", "routes", "-n", "shop", "-o", "name").stdout.split()
    assert routes == [f"httproute.gateway.networking.k8s.io/{name}" for name in ("admin", "cart", "storefront")]
    assert shop("get", "svc", "ledger", "-o", "name").stdout == "service/ledger\n"
    described = shop("describe", routes[1], "-n", "shop", "-o", "name")
    assert described.stdout.split() == [routes[1]]


def test_jsonpath_template_is_applied_to_the_items(shop: Run) -> None:
    template = 'jsonpath={range .items[*]}{.object}{"\\n"}{end}'
    answer = shop("get", "svc", "-n", "payments", "-o", template)
    assert answer.stdout.split() == ["core/Service/payments/ledger"]


def test_admins_rego_is_listed_with_its_state(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "modules.yaml"
    file.write_text(MODULES)
    answer = bridge("get", "modules", "-o", "wide", "--manifests", str(file))
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert rows[0] == ["NAMESPACE", "NAME", "KIND", "STATE", "PACKAGES", "MESSAGE"]
    assert rows[1][:4] == ["opa-policies", "broken", "ConfigMap", "Rejected"]
    assert rows[2] == ["opa-policies", "good", "ConfigMap", "Active", "acme.good"]


def test_active_module_that_fails_on_an_object_is_listed_with_that_object(bridge: Run, tmp_path: Path) -> None:
    modules = resource(
        "v1",
        "ConfigMap",
        "below",
        "opa-policies",
        metadata={"labels": {"openpolicyagent.org/policy": "rego"}},
        data={"below.rego": FAILS_ON_ONE},
    )
    file = tmp_path / "objects.yaml"
    file.write_text(yaml.safe_dump_all([modules, odd("odd"), service("good")]))
    (entry,) = json.loads(bridge("get", "modules", "-o", "json", "--manifests", file).stdout)
    assert entry["state"] == "Active"
    assert entry["message"].startswith("below.rego:13:1: fails on core/Service/infra/odd: ")


FAILING = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: odd, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  odd.rego: |
    package bridge.strategies.odd

    result := {"spec": {"rate": 1}, "origins": {}}

    result := {"spec": {"rate": 2}, "origins": {}} if input.challenger.spec.odd
---
apiVersion: policybridge.io/v1alpha1
kind: PolicyKind
metadata: {name: rates.acme.example}
spec: {group: acme.example, kind: Rate, effectiveTarget: Rule, custom: odd, defaultStrategy: Custom}
---
apiVersion: acme.example/v1
kind: Rate
metadata: {name: everyone, namespace: infra}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: internal}], rate: 5}
---
apiVersion: acme.example/v1
kind: Rate
metadata: {name: admin, namespace: shop}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: admin}], odd: true}
"""


@pytest.mark.parametrize("command", ["get targets", "get policies -A", "status -A", "effective", "problems -A"])
def test_strategy_that_fails_at_one_target_keeps_no_other_from_a_list(
    bridge: Run, shop: Run, tmp_path: Path, command: str
) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text(FAILING)
    before = shop(*command.split())
    answer = bridge(*command.split(), "--manifests", SHOP, file)
    assert answer.returncode == 2
    assert len(answer.stdout.splitlines()) >= len(before.stdout.splitlines())
    errors = answer.stderr.splitlines()
    assert errors
    for error in errors:
        assert error.startswith(("error: acme.example/Rate at ", "error: acme.example/Rate/"))
        assert "core/ConfigMap/opa-policies/odd/odd.rego:5" in error
    assert "NoScope" not in answer.stdout  # the policy whose only target fails
