"""The state of an author's object, as the metrics count it."""

import pytest

from bridge.model.keys import parse_key
from bridge.policy_loader.authors import STATES, Author
from bridge.policy_loader.submissions import ModuleProblem, Verdict

KEY = parse_key("core/ConfigMap/opa-policies/gate")
WRONG = ModuleProblem("gate.rego", 1, 1, "rego_parse_error", "unexpected token")


def author(verdict: Verdict | None) -> Author:
    identity = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gate", "namespace": "opa-policies"}}
    return Author(identity, {}, "2", policy=True, verdict=verdict)


@pytest.mark.parametrize(
    ("one", "state"),
    [
        (author(None), "pending"),
        (author(Verdict(KEY, "1", "1")), "pending"),  # what was judged is an earlier version
        (author(Verdict(KEY, "2", "1")), "pending"),  # OPA has not taken it yet
        (author(Verdict(KEY, "2", "2")), "active"),
        (author(Verdict(KEY, "2", "1", (WRONG,))), "last-good-version"),
        (author(Verdict(KEY, "2", "", (WRONG,))), "refused"),
    ],
)
def test_an_author_is_counted_by_its_modules_in_opa(one: Author, state: str) -> None:
    assert one.state == state
    assert state in STATES
