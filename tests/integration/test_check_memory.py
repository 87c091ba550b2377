"""The memory that `opa check` and `opa test` may use."""

import re
import resource
from pathlib import Path

import pytest

from bridge.files import rego_root
from bridge.opa.shipped import shipped
from bridge.policy_loader.bounds import DEFAULT_MEMORY, LEAST_MEMORY, MEBIBYTE
from bridge.policy_loader.compile_check import Checker
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
            "evaluating these tests takes more than 640 MiB of memory: use smaller values, or raise the bridge's "
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


def dense_module(name: str, kibibytes: int) -> str:
    """Return a module that needs almost a thousand times its size to compile."""
    return f"package {name}\n\nx := [{'[1],' * (kibibytes * 256)}1]\n"


async def test_set_that_needs_too_much_memory_names_the_largest_authors(opa_path: Path) -> None:
    authors = [Submission(author(f"a{n}"), "1", {"a.rego": dense_module(f"a{n}", max(14, 16 - n))}) for n in range(12)]
    small = Submission(author("small"), "1", {"a.rego": "package small\n\nx := 1\n"})
    judge = Judge(Checker(opa_path, {}, memory=160 * MEBIBYTE, patience=DEADLINE), FEW)
    (fault,) = await judge.find_faults([*authors, small])
    assert fault.problem.code == "memory"
    assert fault.problem.message.endswith(f"; the largest are {author('a0')} (16 KiB) and {author('a1')} (15 KiB)")


async def test_author_that_needs_more_than_a_share_is_refused_and_no_other_author(opa_path: Path) -> None:
    async with loading(opa_path) as bench:
        for number in range(4):
            bench.put(f"big{number}", dense_module(f"big{number}", 100), created=f"2026-01-0{number + 1}T00:00:00Z")
        bench.put("small", "package small\n\nx := 1\n", created="2026-02-01T00:00:00Z")
        await bench.until_active("small")
        for number in range(4):
            _, _, code, message = await bench.refused(f"big{number}")
            assert code == "memory"
            assert message == (
                "the modules need more than 48 MiB of memory to compile, the share of one author: shorten them, or "
                "raise the bridge's setting check_memory_mib"
            )
        bench.put("small", "package small\n\nx := 2\n", version="2", created="2026-02-01T00:00:00Z")
        await bench.until_active("small", version="2")


async def test_share_is_measured_although_functions_of_others_are_missing(opa_path: Path) -> None:
    text = f"package a\n\nx if {{\n{'data.b.f([1])' + chr(10)}}}\n\n{dense_module('a', 200).partition(chr(10))[2]}"
    checker = Checker(opa_path, FEW.modules)
    (found,) = await checker.find_excess({"a.rego": text})
    assert found.code == "memory"
    assert await checker.find_excess({"a.rego": text.replace("[1],", "")}) == []


async def test_module_of_120_kib_of_ordinary_rules_is_within_the_share(opa_path: Path) -> None:
    rules = "".join(RULE.format(n=number) for number in range(600))
    assert await Checker(opa_path, FEW.modules).find_excess({"a.rego": f"package a\n\n{rules}"}) == []
    assert len(rules) > 120 << 10


@pytest.mark.parametrize(
    "memory",
    [
        pytest.param(DEFAULT_MEMORY, marks=pytest.mark.long),
        LEAST_MEMORY,
        pytest.param(LEAST_MEMORY - 48 * MEBIBYTE, marks=pytest.mark.long),
    ],
)
async def test_guardrails_of_new_authors_compile_with_all_shipped_modules(opa_path: Path, memory: int) -> None:
    """Below the least, too: the time at which Go collects garbage must not decide."""
    checker = Checker(opa_path, shipped(rego_root()).modules, memory=memory, patience=DEADLINE)
    modules: dict[str, str] = {}
    for name in ("one", "two", "three", "four"):
        modules[f"{name}.rego"] = (
            f"package bridge.guardrails.{name}\n\n"
            'violations contains {"message": "no policies"} if not input.policies.unknown\n'
        )
        assert await checker.find_excess(modules) == []
        assert await checker.check(modules, {}, newcomers=True) == []


async def test_last_part_of_the_memory_is_for_authors_with_active_modules(opa_path: Path, tmp_path: Path) -> None:
    active = [Submission(author(f"a{n}"), "1", {"a.rego": f"package a{n}\n\nx := 1\n"}) for n in range(3)]
    changed = Submission(author("a0"), "2", {"a.rego": "package a0\n\nx := 2\n"})
    other = Submission(author("other"), "1", {"a.rego": "package other\n\nx := 1\n"})
    # Modules that need as much vary by a tenth with the times of Go's collector: here a lower bound is too little.
    frugal = tmp_path / "opa"
    frugal.write_text(
        f'#!/bin/sh\ntest "$1" = check && test "$GOMEMLIMIT" -lt {int(0.8 * 270) * MEBIBYTE} || exec {opa_path} "$@"\n'
        'echo "fatal error: out of memory" >&2\nexit 2\n'
    )
    frugal.chmod(0o755)
    judge = Judge(Checker(frugal, {}, memory=280 * MEBIBYTE, patience=DEADLINE), FEW)
    assert await judge.find_faults([*active, other]) == []
    judge.note_served(active, 1)
    assert await judge.find_faults([changed, *active[1:]]) == []
    (fault,) = await judge.find_faults([changed, *active[1:], other])
    assert fault.problem.message.startswith("compiling the modules takes more than 252 MiB of memory")


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
