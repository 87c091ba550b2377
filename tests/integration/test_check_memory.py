"""The memory that `opa check` and `opa test` may use."""

import re
import resource
from pathlib import Path

import pytest

from bridge.files import rego_root
from bridge.opa.shipped import shipped
from bridge.policy_loader.compile_check import MEBIBYTE, Checker
from bridge.policy_loader.judgement import Judge
from bridge.policy_loader.submissions import Submission
from tests.integration.loading import DEADLINE, FEW, author, loading

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system does not bound a process' memory")

RULE = """
deny_{n} contains message if {{
	some container in input.review.object.spec.containers
	not startswith(container.image, "registry{n}/")
	message := sprintf("image %v is not from registry {n}", [container.image])
}}
"""
TEST = """
test_{n} if count({package}.deny_{n}) == 1 with input.review.object.spec.containers as [{{"image": "x"}}]
"""


async def test_a_test_that_needs_too_much_memory_is_its_authors_error(opa_path: Path) -> None:
    tests = "package a_test\n\ntest_range if count(numbers.range(1, 8000000)) == 8000000\n"
    async with loading(opa_path) as bench:
        bench.put("a", "package team.a\n\nx := 1\n", tests=tests)
        bench.put("b", "package team.b\n\nx := 1\n")
        _, _, code, message = await bench.refused("a")
        await bench.until_active("b")
        assert code == "memory"
        assert message == (
            "evaluating these tests takes more than 384 MiB of memory: use smaller values, or raise the bridge's "
            "setting check_memory_mib"
        )
        runs = bench.checker.runs
        bench.put("b", "package team.b\n\nx := 2\n", version="2")
        await bench.until_active("b", version="2")
        assert bench.checker.runs - runs < 8  # the failure is remembered


async def test_a_test_that_needs_too_much_memory_never_passes(opa_path: Path) -> None:
    tests = {"t.rego": "package a_test\n\ntest_range if count(numbers.range(1, 8000000)) == 8000000\n"}
    for _ in range(5):  # Go's runtime ends in several ways when it gets no memory
        (found,) = await Checker(opa_path, {}, memory=256 * MEBIBYTE).test({}, {}, tests, {})
        assert (found.code, found.message.split(":")[0]) == (
            "memory",
            "evaluating these tests takes more than 256 MiB of memory",
        )


async def test_set_that_needs_too_much_memory_names_the_largest_authors(opa_path: Path) -> None:
    rules = "".join(f"r{number} := {number} if input.x == {number}\n" for number in range(20_000))
    big = Submission(author("big"), "1", {"a.rego": f"package big\n\n{rules}"}, created="2026-01-01T00:00:00Z")
    small = Submission(author("small"), "1", {"a.rego": "package small\n\nx := 1\n"}, created="2026-02-01T00:00:00Z")
    judge = Judge(Checker(opa_path, {}, memory=128 * MEBIBYTE, patience=DEADLINE), FEW)
    (fault,) = await judge.find_faults([big, small])
    assert fault.problem.code == "memory"
    assert fault.problem.message.endswith(
        f"; the largest are {big.author} ({len(big.modules['a.rego']) // 1024} KiB) and {small.author} (1 KiB)"
    )


async def test_a_hundred_modules_and_their_tests_fit_into_the_default_bound(opa_path: Path) -> None:
    names = [f"m{number}" for number in range(100)]
    modules = {
        f"{name}.rego": f"package admins.{name}\n" + "".join(RULE.format(n=n) for n in range(20)) for name in names
    }
    tests = {
        f"{name}_test.rego": f"package admins.{name}_test\n\nimport data.admins.{name}\n"
        + "".join(TEST.format(n=n, package=name) for n in range(5))
        for name in names
    }
    checker = Checker(opa_path, shipped(rego_root()).modules, patience=60)
    assert await checker.test(modules, {}, tests, {}) == []


async def test_messages_name_authors_files_and_not_those_of_the_check(opa_path: Path) -> None:
    modules = {
        f"team/{name}.rego": f"package a\n\ndefault r := {number}\n" for number, name in enumerate(("one", "two"))
    }
    tests = {"team/a_test.rego": "package a_test\n\ntest_it if data.b.r == 1\n"}
    conflicting = {"team/b.rego": 'package b\n\nr := 1 if input.x != "1"\n\nr := 2 if input.x != "2"\n'}
    checker = Checker(opa_path, {})
    failing = {"team/a_test.rego": "package a_test\n\ntest_it if data.b.r == 1 with input.x as 3\n"}
    found = await checker.check(modules, {}) + await checker.test(conflicting, {}, failing | tests, {})
    found += await checker.test(conflicting, {}, failing, {})
    assert found
    assert [one.message for one in found if re.search(r"\d{5}\.rego", one.message)] == []
    assert any("team/one.rego" in one.message or "team/two.rego" in one.message for one in found)
