"""Modules whose check takes long delay only their own author."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.loading import loading

# No numbers have this product, so the test runs until it is ended.
SLOW = """package slow_test

test_slow if {
	some i in numbers.range(1, 9999)
	some j in numbers.range(1, 9999)
	some k in numbers.range(1, 9999)
	(i * j) * k == -1
}
"""


@pytest.mark.long
async def test_slow_check_at_the_start_delays_no_other_author(opa_path: Path) -> None:
    async with loading(opa_path, listed=False, patience=60) as bench:
        for number in range(4):
            bench.put(f"slow{number}", f"package team.slow{number}\n\nx := 1\n", tests=SLOW)
        for number in range(5):
            bench.put(f"quick{number}", f"package team.quick{number}\n\nx := {number}\n")
        bench.put("broken", "package team.broken\n\nx := nowhere\n")
        bench.loader.listed()
        async with asyncio.timeout(50):
            await bench.until_active(*(f"quick{number}" for number in range(5)))
            assert (await bench.refused("broken"))[2] == "rego_unsafe_var_error"
            for number in range(4):
                assert (await bench.refused(f"slow{number}"))[2] == "timeout"
        bench.put("late", "package team.late\n\nx := 7\n")
        await asyncio.wait_for(bench.until_active("late"), 20)
        assert await bench.opa.get("team/late/x") == 7
        # A changed version that is quick becomes active, although others are still being checked.
        for number in range(4):
            bench.loader.remove(bench.verdicts[f"slow{number}"].author)
        bench.put("two", "package team.two\n\nx := data.team.one.y\n")
        bench.put("one", "package team.one\n\ny := data.team.quick1.x\n")
        await bench.until_active("one", "two")


async def test_slow_version_leaves_the_last_good_one_active_and_a_fixed_one_replaces_it(opa_path: Path) -> None:
    async with loading(opa_path, patience=8) as bench:
        bench.put("a", "package team.a\n\nx := 1\n")
        await bench.until_active("a")
        bench.put("a", "package team.a\n\nx := 2\n", tests=SLOW, version="2")
        assert (await bench.refused("a", "2"))[2] == "timeout"
        assert bench.verdicts["a"].active == "1"
        bench.put("b", "package team.b\n\nx := data.team.a.x\n")
        await bench.until_active("b")
        assert await bench.opa.get("team/b/x") == 1
        bench.put("a", "package team.a\n\nx := 3\n", version="3")
        await bench.until_active("a", version="3")
        assert await bench.opa.get("team/b/x") == 3
