"""Which guardrails Constraints use."""

from typing import Any

import msgspec
import pytest

from bridge.model.changes import Change, Deleted, Listed, Listing, Trouble, Upserted
from bridge.model.keys import key_of
from bridge.model.types import CONSTRAINT
from bridge.policy_loader.used_guardrails import UsedGuardrails, guardrail_of


def constraint(name: str, policy: Any) -> dict[str, Any]:
    metadata = {"name": name}
    return {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "Constraint",
        "metadata": metadata,
        "spec": {"policy": policy},
    }


def test_the_use_of_a_guardrail_begins_and_ends_with_its_constraint() -> None:
    changes: list[frozenset[str]] = []
    used = UsedGuardrails(changes.append)
    first = constraint("a", "bridge.guardrails.same_value")
    used.take_in(Upserted(CONSTRAINT, (first,)))
    used.take_in(Upserted(CONSTRAINT, (constraint("b", "bridge.guardrails.same_value"),)))
    used.take_in(Deleted(CONSTRAINT, key_of(first)))
    assert changes == [{"bridge.guardrails.same_value"}]
    used.take_in(Upserted(CONSTRAINT, (constraint("b", "k8s.memory"),)))
    assert changes[1:] == [frozenset()]


def test_a_constraint_that_a_later_list_lacks_is_deleted() -> None:
    changes: list[frozenset[str]] = []
    used = UsedGuardrails(changes.append)
    both = (constraint("a", "bridge.guardrails.same_value"), constraint("b", "bridge.guardrails.no_weakening"))
    for change in (Listing(CONSTRAINT), Upserted(CONSTRAINT, both), Listed(CONSTRAINT)):
        used.take_in(change)
    for change in (Listing(CONSTRAINT), Upserted(CONSTRAINT, both[:1]), Listed(CONSTRAINT)):
        used.take_in(change)
    assert changes == [
        {"bridge.guardrails.same_value", "bridge.guardrails.no_weakening"},
        {"bridge.guardrails.same_value"},
    ]


@pytest.mark.parametrize("last", [Listed(CONSTRAINT), Trouble(CONSTRAINT, "install the CRD", absent=True)])
def test_constraints_are_listed_at_the_end_of_the_list_or_without_their_crd(last: Change) -> None:
    used = UsedGuardrails(lambda _: None)
    for change in (Trouble(CONSTRAINT, "no answer", unknown=True), Listing(CONSTRAINT), Upserted(CONSTRAINT, ())):
        used.take_in(change)
        assert not used.listed
    used.take_in(last)
    assert used.listed


def test_other_policies_are_no_guardrails() -> None:
    assert [guardrail_of(constraint("a", policy)) for policy in ("k8s.memory", 3, None)] == ["", "", ""]
    assert guardrail_of({"spec": None}) == ""


def test_the_spec_of_an_object_of_a_cluster_is_json_text() -> None:
    found = constraint("a", "bridge.guardrails.x")
    assert guardrail_of({**found, "spec": msgspec.Raw(msgspec.json.encode(found["spec"]))}) == "bridge.guardrails.x"


def test_a_guardrail_that_denies_also_denies_objects_without_a_judgement_unless_it_ignores_that() -> None:
    used = UsedGuardrails(lambda _: None)
    strict = constraint("a", "bridge.guardrails.same_value")
    for one, expected in (
        ({**strict, "spec": {**strict["spec"], "enforcementAction": "warn"}}, False),
        ({**strict, "spec": {**strict["spec"], "policy": "k8s.memory"}}, False),
        (strict, True),
        ({**strict, "spec": {**strict["spec"], "failurePolicy": "Ignore"}}, False),
        (strict, True),
    ):
        used.take_in(Upserted(CONSTRAINT, (one,)))
        assert used.deny_what_is_not_judged == expected
    used.take_in(Deleted(CONSTRAINT, key_of(strict)))
    assert not used.deny_what_is_not_judged
