"""Guardrails on the example, as a person meets them."""

import json
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import ROOT, Run
from tests.e2e.serving import bridge_runs

SHOP = ROOT / "examples" / "shop"
GUARDRAILS = ROOT / "examples" / "guardrails"
OF_FEEDS = ("theme-of-the-platform", "gateway.networking.k8s.io/HTTPRoute/blog/feeds#rss")
OWN = """apiVersion: v1
kind: Namespace
metadata: {name: opa-policies}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: own, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  own.rego: |
    package bridge.guardrails.checkout

    violations contains {"message": sprintf("contrast %d", [colors.contrast])} if {
      endswith(input.target, "#checkout")
      colors := input.policies["example.com/ColorPolicy"].spec
    }
---
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: checkout}
spec: {policy: bridge.guardrails.checkout, match: {kinds: [{apiGroups: [gateway.networking.k8s.io]}]}}
"""


def test_shipped_guardrails_judge_effective_values(bridge: Run) -> None:
    done = bridge("violations", "--manifests", SHOP, "--manifests", GUARDRAILS, "-o", "json")
    assert done.returncode == 0  # nothing with the action deny
    rows = json.loads(done.stdout)
    assert {row["constraint"] for row in rows} == {
        "enough-contrast",
        "no-dead-colors",
        "one-theme-for-a-service",
        "theme-of-the-platform",
    }
    [feeds] = [row for row in rows if (row["constraint"], row["details"]["target"]) == OF_FEEDS]
    assert feeds["message"] == (
        "rule rss via Gateway/infra/public#https: theme is set by ColorPolicy/blog/feeds, which is in namespace blog"
    )
    assert (feeds["details"]["severity"], feeds["details"]["field"]) == ("high", "/theme")


def test_rego_of_admins_is_active_beside_a_shipped_guardrail(bridge: Run) -> None:
    options = ["--manifests", ROOT / "examples" / "constraints", "--manifests", GUARDRAILS]
    assert [row["state"] for row in json.loads(bridge("get", "modules", *options, "-o", "json").stdout)] == ["Active"]


def test_a_change_shows_the_violations_that_it_introduces(bridge: Run) -> None:
    options = ["--manifests", SHOP, "--manifests", GUARDRAILS, "-o", "json"]
    done = bridge("analyze", "--delete", "colorpolicy/infra/brand", *options)
    assert done.returncode == 1
    introduced = json.loads(done.stdout)["problems"]["introduced"]
    about = {one["about"].rpartition("/")[2] for one in introduced if one["reason"] == "Violation"}
    assert about == {"colors-stay", "public-routes-have-colors"}
    assert all(one["causes"] == ["example.com/ColorPolicy/infra/brand"] for one in introduced)


AS_A_FUNCTION = OWN.replace("violations contains {", "violations_at(target, _, _) := {{").replace("} if {", "}} if {")


FUNCTION = AS_A_FUNCTION.replace("input.", "target.")
BESIDE_A_FUNCTION = OWN.replace(
    "    violations contains", "    violations_at(_, _, _) := set()\n\n    violations contains"
)
BESIDE_A_RULE = FUNCTION.replace("    violations_at(", "    default violations := set()\n\n    violations_at(")


@pytest.mark.parametrize(
    "text",
    [
        OWN,
        pytest.param(FUNCTION, marks=pytest.mark.long),
        pytest.param(BESIDE_A_FUNCTION, marks=pytest.mark.long),
        BESIDE_A_RULE,
    ],
    ids=["rule", "function", "rule beside a function", "function beside a rule"],
)
def test_a_guardrail_of_an_admin(bridge: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "own.yaml").write_text(text)
    done = bridge("violations", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
    assert done.returncode == 1, done.stderr
    assert {row["message"] for row in json.loads(done.stdout)} == {
        "rule checkout via Gateway/infra/public#https: contrast 7",
        "rule checkout via Gateway/infra/internal#http: contrast 10",
    }


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("violation contains {", "policy bridge.guardrails.checkout is not loaded"),
        ("violatoins contains {", "policy bridge.guardrails.checkout is not loaded"),
        (
            "violations contains 1 if {",
            "a violation is not an object with a message: 1",
        ),
        (
            "violations := 1 if {",
            "a violation is not an object with a message: 1",
        ),
        ("violations_at(target, _, _) := true if {", "a violation is not an object with a message: true"),
    ],
)
def test_a_guardrail_of_another_form_is_not_green(bridge: Run, tmp_path: Path, rule: str, message: str) -> None:
    [head] = [line for line in OWN.splitlines() if "violations contains" in line]
    text = OWN.replace(head, f"    {rule}" if "if {" in rule else head.replace("violations contains {", rule))
    if "_at(" in rule:
        text = text.replace("input.", "target.")
    (tmp_path / "own.yaml").write_text(text)
    done = bridge("problems", "--violations", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
    assert done.returncode != 0
    assert any(message in row["message"] for row in json.loads(done.stdout)), done.stdout


NEW = """apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: contrast}
spec:
  policy: bridge.guardrails.bounded_field
  match: {kinds: [{apiGroups: [gateway.networking.k8s.io], kinds: [HTTPRoute]}]}
  parameters: {kind: example.com/ColorPolicy, field: /contrast, minimum: 7}
"""


def test_a_change_that_brings_a_guardrail_is_judged_by_it(bridge: Run) -> None:
    done = bridge("analyze", "-f", "-", "--manifests", SHOP, "-o", "json", text=NEW)
    assert {one["message"] for one in json.loads(done.stdout)["problems"]["introduced"]} == {
        "rule to-https via Gateway/infra/public#http: contrast of ColorPolicy must be at least 7, not 4"
    }


def test_a_test_with_a_guardrail_in_its_changes_is_judged_by_it(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(NEW)
    expected = {"HTTPRoute/infra/redirect": ["contrast"], "HTTPRoute/blog/feeds": []}
    case = {"name": "contrast", "changes": {"apply": ["new.yaml"]}, "violations": expected}
    head = {"apiVersion": "test.policybridge.io/v1alpha1", "kind": "Suite", "manifests": [str(SHOP)]}
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump({**head, "tests": [case]}))
    done = bridge("test", tmp_path / "suite.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_change_that_brings_rego_is_judged_by_it(bridge: Run) -> None:
    done = bridge("analyze", "-f", "-", "--manifests", SHOP, "-o", "json", text=OWN)
    assert {one["message"] for one in json.loads(done.stdout)["problems"]["introduced"]} == {
        "rule checkout via Gateway/infra/public#https: contrast 7",
        "rule checkout via Gateway/infra/internal#http: contrast 10",
    }
    broken = bridge("analyze", "-f", "-", "--manifests", SHOP, "-o", "json", text=OWN.replace("endswith(", "endwith("))
    assert broken.returncode == 1
    problems = {one["reason"]: one for one in json.loads(broken.stdout)["problems"]["introduced"]}
    assert problems["RegoRejected"]["subject"] == "core/ConfigMap/opa-policies/own"
    assert "undefined function endwith" in problems["RegoRejected"]["message"]


def test_an_error_in_rego_of_a_folder_names_its_object_as_commands_accept_it(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN.replace("endswith(", "endwith("))
    done = bridge("violations", "--manifests", tmp_path)
    assert done.returncode == 2
    assert ": ConfigMap/opa-policies/own: own.rego:" in done.stderr
    assert "undefined function endwith" in done.stderr


def test_a_test_with_broken_rego_in_its_changes_is_an_error(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN.replace("endswith(", "endwith("))
    case = {"name": "broken", "changes": {"apply": ["own.yaml"]}, "violations": {"HTTPRoute/shop/cart": []}}
    head = {"apiVersion": "test.policybridge.io/v1alpha1", "kind": "Suite", "manifests": [str(SHOP)]}
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump({**head, "tests": [case]}))
    done = bridge("test", tmp_path / "suite.yaml")
    assert done.returncode == 1
    assert "undefined function endwith" in done.stdout


def test_misspelled_parameters_of_a_guardrail_are_errors_and_answer_unknown(bridge: Run, tmp_path: Path) -> None:
    message = 'parameters: unknown field "min"; did you mean "minimum"?'
    (tmp_path / "new.yaml").write_text(NEW.replace("minimum", "min"))
    found = bridge("violations", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
    assert found.returncode == 2
    assert found.stderr == f"error: {tmp_path}/new.yaml:1: Constraint/contrast: {message}\n"
    assert {(row["message"], row["details"]["severity"]) for row in json.loads(found.stdout)} == {(message, "unknown")}
    analyzed = bridge("analyze", "-f", tmp_path, "--manifests", SHOP, "-o", "json")
    assert {one["message"] for one in json.loads(analyzed.stdout)["problems"]["introduced"]} == {message}


@pytest.mark.parametrize(
    ("parameters", "declared", "message"),
    [
        ({"minmum": 1}, False, 'unknown parameter "minmum"; did you mean "minimum"? (bridge.guardrails.checkout never'),
        ({"minmum": 1}, True, 'unknown field "minmum"; did you mean "minimum"?'),
        ({"minimum": "1"}, True, "minimum: invalid type. Expected: number, given: string"),
    ],
)
def test_misspelled_parameters_of_a_guardrail_of_an_admin_are_errors(
    bridge: Run, tmp_path: Path, parameters: dict[str, Any], declared: bool, message: str
) -> None:
    namespace, policy, constraint = yaml.safe_load_all(OWN)
    properties = '"properties": {"minimum": {"type": "number"}}'
    schema = f'parameters_schema := {{{properties}, "additionalProperties": false}}\n' if declared else ""
    policy["data"]["own.rego"] += f"\nlowest := input.parameters.minimum\n\n{schema}"
    constraint["spec"]["parameters"] = parameters
    (tmp_path / "own.yaml").write_text(yaml.safe_dump_all([namespace, policy, constraint]))
    found = bridge("violations", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
    assert found.returncode == 2, found.stderr
    assert f"parameters: {message}" in found.stderr
    assert {row["details"]["severity"] for row in json.loads(found.stdout)} == {"unknown"}


PASSED_ON = """apiVersion: policybridge.io/v1alpha1
kind: RegoPolicy
metadata: {name: lib}
spec:
  modules:
    lib.rego: |
      package acme.lib
      missing(parameters, obj) := {label | some label in parameters.required; not obj.metadata.labels[label]}
      types := ["string", "number"]
---
apiVersion: policybridge.io/v1alpha1
kind: RegoPolicy
metadata: {name: labels}
spec:
  modules:
    labels.rego: |
      package bridge.guardrails.acme_labels
      import data.acme.lib
      violations contains {"message": sprintf("lacks %s", [label])} if {
        some label in lib.missing(input.parameters, input.review.object)
      }
---
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: labels}
spec:
  policy: bridge.guardrails.acme_labels
  match: {kinds: [{apiGroups: [gateway.networking.k8s.io], kinds: [HTTPRoute]}], name: cart}
  parameters: {required: [team]}
"""


def test_parameters_that_a_guardrail_passes_on_are_right(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(PASSED_ON)
    found = bridge("violations", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
    assert not found.stderr
    assert {row["message"].rpartition(": ")[2] for row in json.loads(found.stdout)} == {"lacks team"}


def test_a_schema_of_parameters_that_contradicts_itself_costs_only_its_constraint(bridge: Run, tmp_path: Path) -> None:
    schema = 'parameters_schema := {"properties": {"required": {"type": one}}} if some one in data.acme.lib.types\n'
    text = PASSED_ON.replace("import data.acme.lib\n", f"import data.acme.lib\n      {schema}")
    (tmp_path / "own.yaml").write_text(text)
    (tmp_path / "other.yaml").write_text(OWN)
    found = bridge("violations", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
    assert found.returncode == 2
    assert "parameters_schema of bridge.guardrails.acme_labels must be a JSON schema" in found.stderr
    assert {row["constraint"] for row in json.loads(found.stdout)} == {"labels", "checkout"}


_MOVES = {"owner": "team web", "reason": "it moves", "until": "2999-01-01"}
EXEMPTIONS = [
    {"match": {"namespaces": ["shop"], "name": "cart"}} | _MOVES,
    {"match": {"namespaces": ["shop"], "name": "gone"}} | _MOVES,
    {"match": {"namespaces": ["shop"]}} | _MOVES | {"until": "2020-01-01"},
]


MISSPELLED = """apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: short-timeouts}
spec:
  policy: bridge.guardrails.bounded_field
  match: {kinds: [{apiGroups: [gateway.networking.k8s.io], kinds: [HTTPRoute]}]}
  parameters: {kind: gateway.envoyproxy.io/BackendTrafficPolicy, field: /timeout/http/requestTimout, maximum: 1s}
"""


def test_a_misspelled_field_of_a_preset_is_an_error_without_its_crd(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "limit.yaml").write_text(MISSPELLED)
    envoy = ("--manifests", ROOT / "examples" / "envoy-gateway")
    why = 'BackendTrafficPolicy has no field "requestTimout"; did you mean "requestTimeout"?'
    done = bridge("violations", *envoy, "--manifests", tmp_path)
    assert done.returncode == 2
    assert why in done.stderr
    [row] = json.loads(bridge("problems", *envoy, "--manifests", tmp_path, "-o", "json").stdout)
    assert (row["reason"], why in row["message"]) == ("NeverMatches", True)
    done = bridge("get", "targets", "--without", "backendtrafficpolicy.spec.timeout.http.requestTimout", *envoy)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_an_exempted_violation_is_listed_and_does_not_count(bridge: Run, tmp_path: Path) -> None:
    documents = list(yaml.safe_load_all(OWN))
    documents[-1]["spec"]["exemptions"] = EXEMPTIONS
    (tmp_path / "own.yaml").write_text(yaml.safe_dump_all(documents))
    done = bridge("violations", "--manifests", SHOP, "--manifests", tmp_path)
    assert done.returncode == 0
    assert "team web until 2999-01-01, it moves" in done.stdout
    assert done.stderr.splitlines() == [
        "warning: Constraint/checkout: exemptions[1] of team web exempts no violation",
        "warning: Constraint/checkout: exemptions[2] of team web expired on 2020-01-01",
    ]
    done = bridge("violations", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
    assert {row["exemption"]["number"] for row in json.loads(done.stdout)} == {0}
    assert {row["enforcementAction"] for row in json.loads(done.stdout)} == {"exempt"}


def test_targets_without_a_policy_have_the_exemptions_of_the_rule(bridge: Run, tmp_path: Path) -> None:
    documents = list(yaml.safe_load_all(OWN))[-1:]
    documents[0]["spec"] |= {
        "policy": "bridge.guardrails.required_policy",
        "parameters": {"kinds": ["example.com/ColorPolicy"], "field": "/colors/accent"},
        "exemptions": EXEMPTIONS,
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump_all(documents))
    asked = ["get", "targets", "--without", "colorpolicy.spec.colors.accent", "-n", "shop", "-o", "json"]
    done = bridge(*asked, "--manifests", SHOP, "--manifests", tmp_path)
    owners = {
        (entry["target"].partition("#")[0].rpartition("/")[2], one["owner"])
        for entry in json.loads(done.stdout)
        for path in entry["paths"]
        for one in path["exemptions"]
    }
    assert owners == {("cart", "team web")}


FAILING = """apiVersion: v1
kind: ConfigMap
metadata: {name: failing, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  failing.rego: |
    package bridge.guardrails.failing

    violations contains {"message": sprintf("%d", [value])} if value

    value := 1 if endswith(input.target, "#checkout")

    value := 2 if input.route == "gateway.networking.k8s.io/HTTPRoute/shop/cart"
---
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: failing}
spec: {policy: bridge.guardrails.failing, match: {kinds: [{apiGroups: [gateway.networking.k8s.io]}]}}
"""


def test_a_guardrail_that_fails_is_reported_and_the_others_go_on(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    (tmp_path / "failing.yaml").write_text(FAILING)
    done = bridge("violations", "--manifests", SHOP, "--manifests", tmp_path, "-o", "json")
    rows = json.loads(done.stdout)
    assert {row["message"] for row in rows if row["constraint"] == "checkout"} == {
        "rule checkout via Gateway/infra/public#https: contrast 7",
        "rule checkout via Gateway/infra/internal#http: contrast 10",
    }
    [failed] = [row for row in rows if row["constraint"] == "failing"]
    assert failed["object"] == "gateway.networking.k8s.io/HTTPRoute/shop/cart"
    assert failed["message"].startswith("cannot be judged: ")
    assert "failing.rego" in failed["message"]
    assert (failed["enforcementAction"], failed["details"]) == ("deny", {"severity": "unknown"})


def test_a_rule_that_only_counts_denies_nothing_and_is_a_metric_by_namespace(
    bridge: Run, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    counting = yaml.safe_load(OWN.rpartition("---")[2])
    counting["metadata"]["name"] = "fonts"
    counting["spec"] |= {"policy": "bridge.guardrails.required_policy", "enforcementAction": "dryrun"}
    counting["spec"]["parameters"] = {"kinds": ["example.com/ColorPolicy"], "field": "/colors"}
    (tmp_path / "fonts.yaml").write_text(yaml.safe_dump(counting))
    files: list[str | Path] = ["--manifests", SHOP, "--manifests", tmp_path]
    found = bridge("violations", *files, "-o", "json")
    assert found.returncode == 0
    assert {row["enforcementAction"] for row in json.loads(found.stdout)} == {"dryrun"}
    line = 'policy_bridge_constraint_violating_objects{constraint="fonts",object_namespace="shop"} '
    with bridge_runs(bridge_path, environment, tmp_path / "log", *files, "--listen", "127.0.0.1:0") as served:
        deadline = time.monotonic() + 300
        while line not in (page := urllib.request.urlopen(f"{served.url}/metrics").read().decode()):  # noqa: S310
            assert time.monotonic() < deadline, page
            time.sleep(0.2)
    assert int(float(page.partition(line)[2].split("\n")[0])) > 0


DRY_RUN = """apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: istio}
spec: {controllerName: istio.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public, namespace: infra}
spec: {gatewayClassName: istio, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: trial, namespace: infra, annotations: {istio.io/dry-run: "true"}}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: public}]
  action: DENY
  rules: [{}]
"""


def test_a_staged_policy_is_in_effect_only_where_it_is_asked_for(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "trial.yaml").write_text(DRY_RUN)
    options = ["--manifests", tmp_path, "-o", "json"]
    assert json.loads(bridge("effective", *options).stdout) == []
    [entry] = json.loads(bridge("effective", "--with-staged", *options).stdout)
    assert entry["paths"][0]["staged"] == ["security.istio.io/AuthorizationPolicy/infra/trial"]
