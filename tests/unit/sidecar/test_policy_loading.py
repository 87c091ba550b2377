"""What the webhook must know of the modules that OPA has."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge.opa.client import Answer
from bridge.policy_loader.used_guardrails import UsedGuardrails
from bridge.sidecar.policy_loading import PolicyLoading, policies_of
from bridge.sidecar.webhook import Policies

REVISION = "7"


@pytest.fixture
def policies() -> Policies:
    """Return those of a bridge that has just replaced its modules by REVISION."""
    loader = SimpleNamespace(revision=REVISION, was_served_recently=lambda _: True, find_dependents=None)
    loading = SimpleNamespace(authors=SimpleNamespace(), loader=loader, guardrails=UsedGuardrails(lambda _: None))
    return policies_of(cast("PolicyLoading", loading), str)


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
