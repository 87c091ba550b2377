"""A change that relaxes a guardrail is judged by the guardrail as it was before, and says so."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Run

HARBOR = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: quay, namespace: infra}
spec:
  gatewayClassName: eg
  listeners: [{name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: boats, namespace: shop}
spec:
  parentRefs: [{name: quay, namespace: infra}]
  rules: [{name: hire, backendRefs: [{name: boats, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: boats, namespace: shop}
spec: {ports: [{port: 80}]}
"""
KEYS = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: keys, namespace: infra}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: quay}]
  jwt: {providers: [{name: a, remoteJWKS: {uri: "https://a.example.org/k"}}]}
"""
GUARD = """
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: needs-keys}
spec:
  policy: bridge.guardrails.required_policy
  match: {kinds: [{apiGroups: [gateway.networking.k8s.io], kinds: [HTTPRoute]}]}
  parameters: {kinds: [gateway.envoyproxy.io/SecurityPolicy]}
"""
OWN = """
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  keys.rego: |
    package bridge.guardrails.own_keys

    violations contains {"message": "keys are missing"} if {
      not input.policies["gateway.envoyproxy.io/SecurityPolicy"]
    }
"""
LAX = OWN.replace('not input.policies["gateway.envoyproxy.io/SecurityPolicy"]', "input.policies == 1")
OWN_GUARD = GUARD.replace("required_policy", "own_keys").replace("parameters: {kinds", "parameters: {x")
EXEMPTION = GUARD + (
    "  exemptions: [{owner: us, reason: none, until: '2099-01-01', match: {kinds: [{kinds: [HTTPRoute]}]}}]\n"
)


@pytest.fixture
def harbor(tmp_path: Path) -> Path:
    """A folder with a guarded route."""
    folder = tmp_path / "deploy"
    folder.mkdir()
    for name, text in {"harbor": HARBOR, "keys": KEYS, "guard": GUARD}.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def introduced(bridge: Run, *arguments: str | Path) -> tuple[int, set[tuple[str, str, str]]]:
    answer = bridge("analyze", *arguments, "-o", "json")
    problems = json.loads(answer.stdout)["problems"]["introduced"]
    return answer.returncode, {
        (one["reason"], one["subject"].rpartition("/")[2], one.get("enforcementAction", "deny")) for one in problems
    }


def test_deleting_a_guardrail_with_the_policy_that_it_demands_fails(bridge: Run, harbor: Path) -> None:
    both = ("--delete", "constraint/needs-keys", "--delete", "infra/keys", "--manifests", harbor)
    found = {("GuardrailRelaxed", "needs-keys", "warn"), ("GuardrailRelaxed", "boats", "deny")}
    assert introduced(bridge, *both) == (1, found)
    assert introduced(bridge, *both, "--ignore", "GuardrailRelaxed") == (0, set())


def test_deleting_a_guardrail_alone_is_a_warning(bridge: Run, harbor: Path) -> None:
    alone = ("--delete", "constraint/needs-keys", "--manifests", harbor)
    assert introduced(bridge, *alone) == (0, {("GuardrailRelaxed", "needs-keys", "warn")})
    assert introduced(bridge, *alone, "--fail-on", "warning")[0] == 1


@pytest.mark.parametrize(
    ("edit", "reasons"),
    [
        (("match:", "enforcementAction: dryrun\n  match:"), {"GuardrailRelaxed", "Violation"}),
        (("match: {kinds", "match: {excludedNamespaces: [shop], kinds"), {"GuardrailRelaxed", "SelectsNothing"}),
        (("SecurityPolicy]", 'SecurityPolicy], internalHostnames: ["*"]'), {"GuardrailRelaxed"}),
    ],
)
def test_editing_a_guardrail_to_let_a_change_pass_fails(
    bridge: Run, harbor: Path, edit: tuple[str, str], reasons: set[str]
) -> None:
    change = harbor.parent / "change.yaml"
    change.write_text(GUARD.replace(*edit))
    code, found = introduced(bridge, "-f", change, "--delete", "infra/keys", "--manifests", harbor)
    assert (code, {reason for reason, _, _ in found}) == (1, reasons)
    assert ("GuardrailRelaxed", "boats", "deny") in found
    assert introduced(bridge, "-f", change, "--manifests", harbor)[0] == 0


def test_an_exemption_in_the_same_change_counts(bridge: Run, harbor: Path) -> None:
    change = harbor.parent / "change.yaml"
    change.write_text(EXEMPTION)
    found = introduced(bridge, "-f", change, "--delete", "infra/keys", "--manifests", harbor)
    assert found == (0, {("Violation", "boats", "exempt")})


def test_editing_the_rego_of_a_guardrail_to_let_a_change_pass_fails(bridge: Run, harbor: Path) -> None:
    (harbor / "guard.yaml").write_text(f"{OWN_GUARD}---{OWN}")
    change = harbor.parent / "change.yaml"
    change.write_text(LAX)
    for arguments in (("-f", change), ("--delete", "configmap/opa-policies/rules")):
        code, found = introduced(bridge, *arguments, "--delete", "infra/keys", "--manifests", harbor)
        assert (code, ("GuardrailRelaxed", "boats", "deny") in found) == (1, True)


WORDS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: words, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  words.rego: |
    package acme.words

    strict := true
"""
READER = OWN.replace("not input", "data.acme.words.strict\n      not input")
LENIENT = READER.replace("data.acme.words.strict", "not data.acme.words.lax")
NAMES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: names, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  names.rego: |
    package acme.names

    violation contains {"msg": "a bad name"} if input.review.object.spec.rules[0].name == "sell"
"""


@pytest.mark.parametrize(
    ("guard", "change", "deleted"),
    [
        (f"{OWN_GUARD}---{READER}---{WORDS}", WORDS.replace("true", "false"), ("--delete", "infra/keys")),
        (f"{OWN_GUARD}---{LENIENT}", WORDS.replace("strict", "lax"), ("--delete", "infra/keys")),
        (
            GUARD.replace("bridge.guardrails.required_policy", "acme.names") + "---" + NAMES,
            NAMES.replace("sell", "give") + "---" + HARBOR.replace("name: hire", "name: sell"),
            (),
        ),
    ],
)
def test_editing_or_adding_what_the_policy_of_a_constraint_reads_fails(
    bridge: Run, harbor: Path, guard: str, change: str, deleted: tuple[str, ...]
) -> None:
    (harbor / "guard.yaml").write_text(guard)
    file = harbor.parent / "change.yaml"
    file.write_text(change)
    code, found = introduced(bridge, "-f", file, *deleted, "--manifests", harbor)
    assert (code, ("GuardrailRelaxed", "boats", "deny") in found) == (1, True)


def test_a_renamed_rule_is_not_new_for_a_baseline(bridge: Run, harbor: Path) -> None:
    (harbor / "keys.yaml").unlink()
    gate = ("problems", "--manifests", harbor, "--baseline", harbor.parent / "known.json")
    assert bridge(*gate, "--write-baseline").returncode == 0
    (harbor / "harbor.yaml").write_text(HARBOR.replace("name: hire", "name: rent"))
    answer = bridge(*gate)
    assert (answer.returncode, answer.stderr) == (0, "No new problems found.\n")
    (harbor / "harbor.yaml").write_text(HARBOR.replace("name: hire,", "name: hire, matches: [{path: {value: /new}}],"))
    assert bridge(*gate).returncode == 0
    (harbor / "harbor.yaml").write_text(HARBOR.replace("rules:", 'hostnames: ["a.test"]\n  rules:'))
    assert bridge(*gate).returncode == 0
