"""Requests that change how policies act, at the webhook of a running bridge: judged as if they had been made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.reviewing import Review, message_of, webhook_of
from tests.e2e.tints import BASE, KIND, Object, constraint, crd, guardrail, kind, library, rego, strategy
from tests.eventually import eventually_blocking

CART = "HTTPRoute/shop/cart"


def _bounded(name: str, field: str, **bounds: Any) -> Object:
    parameters = {"kind": KIND, "field": field, **bounds}
    return constraint(name, "bridge.guardrails.bounded_field", ["HTTPRoute"], parameters)


GUARDED = [*BASE, _bounded("broad", "/b", minimum=4, required=True), _bounded("calm", "/c", maximum=10)]
OTHER = rego("other", "package acme.other\n\nx := 1\n")
# By what is done: the operation, the object, the object before, and a part of the denial, "" for none.
CHANGES: dict[str, tuple[str, Object, Object | None, str]] = {
    "strategy that adds": ("UPDATE", strategy("sum(values)"), strategy(), "tint 11"),
    "strategy that takes the least of one field": ("UPDATE", strategy("min(values)"), strategy(), "[broad]"),
    "library of a strategy": ("UPDATE", library("sum"), library(), "tint 11"),
    "guardrail that is tighter": ("UPDATE", guardrail(5), guardrail(), "tint 7"),
    "guardrail that is wider": ("UPDATE", guardrail(50), guardrail(), ""),
    "guardrail that a Constraint needs": ("DELETE", guardrail(), None, "bridge.guardrails.pale"),
    "strategy that goes": ("DELETE", strategy(), None, "[broad]"),
    "library that goes": ("DELETE", library(), None, "other policies need these modules"),
    "other Rego": ("CREATE", OTHER, None, ""),
    "Rego that does not compile": ("UPDATE", strategy("nowhere"), strategy(), ""),
    "PolicyKind of which routes decide": (
        "UPDATE",
        kind(defaultStrategy="PatchDefaults"),
        kind(),
        "[broad]",
    ),
    "PolicyKind of which Gateways decide": ("UPDATE", kind(defaultStrategy="PatchOverrides"), kind(), ""),
    "PolicyKind that goes": ("DELETE", kind(), None, "[broad]"),
    "default that a guardrail forbids": ("UPDATE", crd(default=11), crd(), "[calm]"),
    "field that a guardrail demands": ("UPDATE", crd(without="b"), crd(), "[broad]"),
    "field that none demands": ("UPDATE", crd(without="a"), crd(), ""),
    "default that it allows": ("UPDATE", crd(default=9), crd(), ""),
}
# One of each kind of change, and of each outcome; the others are long.
FIRST = (
    "strategy that adds",
    "guardrail that a Constraint needs",
    "other Rego",
    "PolicyKind of which routes decide",
    "field that none demands",
)


@pytest.fixture(scope="module")
def review(
    bridge_path: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Review]:
    with webhook_of(bridge_path, environment, tmp_path_factory.mktemp("tints"), GUARDED) as found:
        # Once the modules are active, the guardrail denies.
        operation, obj, old, denial = CHANGES["strategy that adds"]
        eventually_blocking(lambda: found(operation, obj, old), lambda answer: denial in message_of(answer))
        yield found


@pytest.mark.parametrize(
    "change", [pytest.param(name, marks=() if name in FIRST else pytest.mark.long) for name in CHANGES]
)
def test_a_change_of_a_policy_kind_or_crd_is_judged_by_its_effects(review: Review, change: str) -> None:
    operation, obj, old, denial = CHANGES[change]
    # On a loaded machine the time may be over first, which is a denial of another kind.
    response = eventually_blocking(
        lambda: review(operation, obj, old), lambda answer: "is not judged" not in message_of(answer)
    )
    assert response["allowed"] == (not denial), response
    assert denial in message_of(response), response
    assert not denial or denial.startswith("other") or CART in message_of(response), response
