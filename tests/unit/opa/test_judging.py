"""What is found where a Constraint's policy fails or takes too long."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected
from bridge.opa.judging import Judging

pytestmark = pytest.mark.fake_time

KEYS = [f"core/Service/shop/s{number}" for number in range(40)]


class Constraints(Opa):
    """An OPA with two Constraints: `good`, and `bad`, which fails or is slow at some objects."""

    def __init__(self, failing: frozenset[str] = frozenset(), slow: frozenset[str] = frozenset()) -> None:
        super().__init__("http://localhost")
        self._failing = failing
        self._slow = slow
        self.slow_queries = 0

    async def query(self, name: str, input_document: Any) -> Any:
        """The Constraints, or their violations: each by every object."""
        if name == "constraints":
            return [{"constraint": "bad"}, {"constraint": "good"}]
        unjudged: Mapping[str, str] = input_document.get("unjudged", {})
        names = input_document.get("constraints", ["bad", "good"])
        keys = set(input_document["objects"])
        if "bad" in names and not unjudged:
            if keys & self._failing:
                raise OpaRejected(
                    500, "internal_error", "no", [{"code": "eval_conflict_error", "message": "two values"}]
                )
            if keys & self._slow:
                self.slow_queries += 1
                await asyncio.sleep(1000)
        return [
            {"constraint": one, "object": key, "message": unjudged.get(one, "found")} for one in names for key in keys
        ]

    async def is_ready(self) -> bool:
        """It answers."""
        return True


async def _found(opa: Constraints, times: int = 1) -> dict[tuple[str, str], str]:
    judging = Judging(opa)
    for _ in range(times):
        rows = await judging.rows(KEYS, None)
    assert len(rows) == 2 * len(KEYS)
    return {(row["constraint"], row["object"]): row["message"] for row in rows}


async def test_a_policy_that_fails_at_one_object_is_judged_at_the_others() -> None:
    found = await _found(Constraints(failing=frozenset({KEYS[7]})))
    assert {name for name, message in found.items() if message != "found"} == {("bad", KEYS[7])}
    assert found["bad", KEYS[7]] == "two values"


async def test_a_policy_that_is_slow_at_one_object_is_judged_at_the_others() -> None:
    found = await _found(Constraints(slow=frozenset({KEYS[7]})))
    assert {name for name, message in found.items() if message != "found"} == {("bad", KEYS[7])}


async def test_a_policy_that_is_slow_everywhere_is_given_up() -> None:
    opa = Constraints(slow=frozenset(KEYS))
    found = await _found(opa, times=3)
    assert {name for name, message in found.items() if message != "found"} == {("bad", key) for key in KEYS}
    assert opa.slow_queries == 3
