"""What the webhook must know of the modules that OPA has."""

import functools
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge.admission.admission import PLACEMENT, RULES, Policies
from bridge.model.changes import Listed, Listing, Object, Upserted
from bridge.model.types import CONSTRAINT
from bridge.opa.client import Answer
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.submissions import REGO_POLICY
from bridge.policy_loader.used_guardrails import UsedGuardrails
from bridge.sidecar.policy_loading import PolicyLoading, SubmittedPolicies
from tests.unit.policy_loader.hand import HandJudge
from tests.unit.policy_loader.test_growth import steps

REVISION = "7"
WHOLE = SimpleNamespace(unready="", policy_kinds=())  # what OPA has of the objects


@pytest.fixture
def policies() -> Policies:
    """Return those of a bridge that has just replaced its modules by REVISION."""
    loader = SimpleNamespace(revision=REVISION, was_served_recently=lambda _: True, find_dependents=None)
    loading = SimpleNamespace(authors=SimpleNamespace(), loader=loader, guardrails=UsedGuardrails(lambda _: None))
    return SubmittedPolicies(cast("PolicyLoading", loading), WHOLE)


def policies_with(package: str, *constraints: Object, listed: bool = True) -> Policies:
    """Return those of a bridge with one RegoPolicy, which is not valid Rego, and Constraints, perhaps not all."""
    authors, guardrails = Authors(HandJudge(), ()), UsedGuardrails(lambda _: None)
    spec = {"modules": {"a.rego": f"package {package}\n\nbroken := {{\n"}}
    metadata = {"name": "mine", "generation": 1}
    policy = {"apiVersion": "policybridge.io/v1alpha1", "kind": "RegoPolicy", "metadata": metadata, "spec": spec}
    for change in (Listing(REGO_POLICY), Upserted(REGO_POLICY, (policy,)), Listed(REGO_POLICY)):
        authors.take_in(change)
    end = (Listed(CONSTRAINT),) if listed else ()
    for change in (Listing(CONSTRAINT), Upserted(CONSTRAINT, constraints), *end):
        guardrails.take_in(change)
    loading = SimpleNamespace(authors=authors, loader=SimpleNamespace(find_dependents=None), guardrails=guardrails)
    decision = ("io", "k8s", "federation", "admission")
    return SubmittedPolicies(cast("PolicyLoading", loading), WHOLE, document=lambda: decision)


def constraint(policy: str) -> Object:
    metadata = {"name": "mine"}
    spec = {"policy": policy, "failurePolicy": "Ignore"}
    return {"apiVersion": "policybridge.io/v1alpha1", "kind": "Constraint", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("package", "constraints", "of_placement", "of_rules"),
    [
        ("io.k8s.federation.admission", [], True, False),
        ("io.k8s", [], True, False),
        ("io.k8s.federation.admission.teams", [], True, False),
        ("bridge.strategies.mine", [], False, True),
        ("bridge.extensions.hierarchy.mine", [], False, True),
        ("bridge.extensions.proxies.mine", [], False, False),
        ("bridge.guardrails.mine", [], False, False),
        ("bridge.guardrails.mine", [constraint("bridge.guardrails.other")], False, False),
        ("bridge.guardrails.mine", [constraint("bridge.guardrails.mine")], False, True),
        ("acme.limits", [], False, False),
        ("acme.limits", [constraint("acme.limits")], False, True),
    ],
)
def test_policies_exist_only_for_decisions_that_evaluate_their_package(
    package: str, constraints: list[Object], of_placement: bool, of_rules: bool
) -> None:
    found = policies_with(package, *constraints)
    assert (found.exist(PLACEMENT), found.exist(RULES)) == (of_placement, of_rules)


@pytest.mark.parametrize("constraints", [[], [constraint("acme.others")]])
def test_whether_the_rules_have_policies_is_unknown_until_constraints_are_listed(constraints: list[Object]) -> None:
    found = policies_with("acme.limits", *constraints, listed=False)
    assert (found.exist(PLACEMENT), found.exist(RULES)) == (False, None)
    closed = {"policy": "bridge.guardrails.same_value"}
    assert policies_with("acme.limits", {**constraint("x"), "spec": closed}, listed=False).exist(RULES) is True


def test_request_to_the_webhook_reads_no_package_of_a_constraint() -> None:
    taken = []
    for count in (1, 60):
        many = [{**constraint(f"acme.p{number}"), "metadata": {"name": f"c{number}"}} for number in range(count)]
        exist = functools.partial(policies_with("acme.limits", *many).exist, RULES)
        exist()
        taken.append(steps(exist))
    assert taken[0] == taken[1]


def denial(*unloaded: str) -> Answer:
    """Return a decision that is a denial because OPA lacks these guardrails."""
    result: dict[str, Any] = {"denied": ["not judged"], "warnings": [], "unloaded": list(unloaded)}
    return Answer(result, REVISION, decision_id="")


def test_denial_for_a_shipped_guardrail_that_is_being_loaded_is_queried_again(policies: Policies) -> None:
    early = denial("bridge.guardrails.required_policy")
    assert policies.distrust(early) == "OPA is loading bridge.guardrails.required_policy"
    assert not policies.is_recent(early)


def test_denial_for_a_guardrail_that_is_never_loaded_counts_at_once(policies: Policies) -> None:
    assert policies.distrust(denial("bridge.guardrails.misspelled")) == ""
    assert policies.is_recent(denial("bridge.guardrails.misspelled"))
