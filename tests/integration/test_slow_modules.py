"""Modules whose check takes long delay only their own author."""

import asyncio
from itertools import count
from pathlib import Path

import pytest

from bridge.policy_loader.compile_check import Checker
from bridge.policy_loader.loader import QUICK, Loader
from bridge.policy_loader.submissions import Submission
from bridge.work import beside
from tests.eventually import eventually
from tests.integration.loading import DEADLINE, FEW, author, loading
from tests.working import working

MOST_RUNS = 40  # of `opa` for the change of one author: the seconds of each depend on the machine
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
        slow = [f"slow{number}" for number in range(4)]
        for name in slow:
            bench.put(name, f"package team.{name}\n\nx := 1\n", tests=SLOW)
        for number in range(5):
            bench.put(f"quick{number}", f"package team.quick{number}\n\nx := {number}\n")
        bench.put("broken", "package team.broken\n\nx := nowhere\n")
        bench.loader.listed()
        await bench.until_active(*(f"quick{number}" for number in range(5)))
        assert (await bench.refused("broken"))[2] == "rego_unsafe_var_error"
        assert not all(bench.is_late(name) for name in slow)  # the others did not wait for each of these checks
        for name in slow:
            await bench.until_late(name)
        runs = bench.checker.runs
        bench.put("late", "package team.late\n\nx := 7\n")
        await bench.until_active("late")
        assert bench.checker.runs - runs < MOST_RUNS
        assert await bench.opa.get("team/late/x") == 7
        # A changed version that is quick becomes active, although others are still being checked.
        for name in slow:
            bench.loader.remove(author(name))
        bench.put("two", "package team.two\n\nx := data.team.one.y\n")
        bench.put("one", "package team.one\n\ny := data.team.quick1.x\n")
        await bench.until_active("one", "two")


# Takes about a second.
HEAVY = """package heavy_test

test_heavy if count([1 | some i in numbers.range(1, 1300); some j in numbers.range(1, 1300); i * j == -1]) == 0
"""


@pytest.mark.long
async def test_versions_of_one_author_become_active_while_others_change_slow_tests(opa_path: Path) -> None:
    """A change waits for a bounded number of checks: the seconds of each depend on the machine."""
    async with loading(opa_path, patience=DEADLINE) as bench:
        names, running = ("a", "b", "c"), asyncio.Event()

        async def change_slow_ones() -> None:
            for version in range(1000):
                for name in names:
                    tests = f"{HEAVY}\n# {version}\n".replace("heavy", f"heavy_{name}")
                    bench.put(name, f"package team.{name}\n\nx := {version}\n", tests=tests, version=str(version))
                    await asyncio.sleep(0.5)
                running.set()

        async with beside(change_slow_ones()):
            await running.wait()
            for number in range(4):
                runs = bench.checker.runs
                bench.put("quick", f"package team.quick\n\nx := {number}\n", version=f"v{number}")
                await bench.until_active("quick", version=f"v{number}")
                assert bench.checker.runs - runs < MOST_RUNS
                await asyncio.sleep(1)
            assert await bench.opa.get("team/quick/x") == 3
        await eventually(lambda: bench.opa.get("team"), lambda team: team and set(names) <= team.keys())


@pytest.mark.long
async def test_late_version_of_an_older_author_takes_the_rules_of_a_younger_one_out(
    opa_path: Path, tmp_path: Path
) -> None:
    """A late check decides as any other: the younger author freezes no name."""
    busy, slow = tmp_path / "busy", tmp_path / "opa"
    slow.write_text(f'#!/bin/sh\nwhile test -e {busy}; do :; done\nexec {opa_path} "$@"\n')
    slow.chmod(0o755)
    async with loading(opa_path) as bench:
        loader = Loader(bench.opa, bench.endpoint, Checker(slow, FEW.modules), FEW)
        bench.loader, bench.verdicts = loader, {}
        loader.listen(lambda reported: bench.verdicts.update({reported.author.name: reported}))
        loader.listed()
        async with working(loader.run):
            constant = "operations := {{{0}}}\n".format
            bench.put("old", f"package team\n\n{constant('1, 2')}", created="2026-01-01T00:00:00Z")
            await bench.until_active("old")
            bench.put("young", f"package team\n\n{constant('1, 2')}", created="2026-02-01T00:00:00Z")
            await bench.until_active("young")
            busy.touch()
            bench.put("old", f"package team\n\n{constant('1')}", created="2026-01-01T00:00:00Z", version="2")
            await bench.until_late("old", version="2")
            busy.unlink()
            await bench.until_active("old", version="2")
            assert (await bench.refused("young"))[2] == "rule_conflict"
            assert await bench.opa.get("team/operations") == [1]


async def test_an_opa_keeps_the_modules_of_a_former_run_while_they_are_checked_again(
    opa_path: Path, tmp_path: Path
) -> None:
    slow = tmp_path / "opa"  # as on a busy machine
    slow.write_text(f'#!/bin/sh\nsleep {QUICK + 1}\nexec {opa_path} "$@"\n')
    slow.chmod(0o755)
    names = ("first", "second")
    async with loading(opa_path) as bench:
        for name in names:
            bench.put(name, f"package team.{name}\n\nx := 1\n")
        await bench.until_active(*names)
        restarted = Loader(bench.opa, bench.endpoint, Checker(slow, FEW.modules), FEW)
        for name in names:
            restarted.submit(Submission(author(name), "1", {"m0.rego": f"package team.{name}\n\nx := 2\n"}, {}))
        restarted.listed()
        async with working(restarted.run):
            found = await eventually(
                lambda: bench.opa.get("team"), lambda team: team != {name: {"x": 1} for name in names}
            )
        assert found == {name: {"x": 2} for name in names}


@pytest.mark.long
async def test_new_authors_with_endless_tests_delay_a_known_one_by_seconds(opa_path: Path) -> None:
    async with loading(opa_path) as bench:
        bench.put("quick", "package team.quick\n\nx := 0\n", version="v0")
        await bench.until_active("quick", version="v0")

        async def add_slow_ones() -> None:
            for number in count():
                tests = SLOW.replace("slow_test", f"slow{number}_test")
                bench.put(f"slow{number}", f"package team.slow{number}\n\nx := 1\n", tests=tests)
                await asyncio.sleep(0.5)

        async with beside(add_slow_ones()):
            for number in range(1, 4):
                bench.put("quick", f"package team.quick\n\nx := {number}\n", version=f"v{number}")
                async with asyncio.timeout(120):
                    await bench.until_active("quick", version=f"v{number}")


async def test_verdicts_are_reported_while_others_change_without_a_pause(opa_path: Path) -> None:
    async with loading(opa_path) as bench:

        async def change() -> None:
            for version in count():
                bench.put("busy", f"package team.busy\n\nx := {version}\n", version=str(version))
                await asyncio.sleep(0.01)

        async with beside(change()):
            bench.put("quick", "package team.quick\n\nx := 1\n")
            bench.put("broken", "package team.broken\n\nx := nowhere\n")
            async with asyncio.timeout(120):
                await bench.until_active("quick")
                assert (await bench.refused("broken"))[2] == "rego_unsafe_var_error"


@pytest.mark.long
async def test_slow_version_leaves_the_last_good_one_active_and_a_fixed_one_replaces_it(opa_path: Path) -> None:
    async with loading(opa_path, patience=60) as bench:
        bench.put("a", "package team.a\n\nx := 1\n")
        await bench.until_active("a")
        bench.put("a", "package team.a\n\nx := 2\n", tests=SLOW, version="2")
        await bench.until_late("a", "2")
        assert bench.verdicts["a"].active == "1"
        bench.put("b", "package team.b\n\nx := data.team.a.x\n")
        await bench.until_active("b")
        assert await bench.opa.get("team/b/x") == 1
        bench.put("a", "package team.a\n\nx := 3\n", version="3")
        await bench.until_active("a", version="3")
        assert await bench.opa.get("team/b/x") == 3
