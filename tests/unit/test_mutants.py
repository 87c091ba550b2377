"""The sample of faults for `make mutants`."""

from __future__ import annotations

from pathlib import Path

from hack.mutants.__main__ import drawn
from hack.mutants.python import is_pure, python_mutants
from hack.mutants.rego import rego_mutants
from hack.mutants.trial import ROOT, Mutant

REGO = """package a

import data.b

# METADATA
# description: true == 1
allow(input_one) if {
	not b.denied(input_one)
	count(b.found) > 2
	input_one.kind == "Gateway"
}

default level := 0

message := sprintf("%d is not %d", [1, 2])
"""
PYTHON = '''"""Docstring with 1 == 2."""

import json

LIMIT: int = 3


def first(values: list[int]) -> int:
    """True if not."""
    for value in values:
        if value == 0:
            continue
        if not value > LIMIT and value:
            return value + 1
    raise ValueError(f"no {1} among {len(values) == 0}")
'''


def described(mutants: list[Mutant], source: str) -> set[str]:
    return {mutant.described(source).removeprefix("a:") for mutant in mutants}


def test_rego_loses_negations_and_conditions_and_gets_other_operators_and_constants() -> None:
    assert described(list(rego_mutants(Path("a"), REGO)), REGO) == {
        "8: not → (removed)",
        "8: not b.denied(input_one) → (removed)",
        "9: count(b.found) > 2 → (removed)",
        "9: > → >=",
        "9: 2 → 3",
        '10: input_one.kind == "Gateway" → (removed)',
        "10: == → !=",
        '10: " → ~"',
    }


def test_a_removed_condition_takes_its_line_along() -> None:
    removed = next(one for one in rego_mutants(Path("a"), REGO) if one.line == 9 and not one.text)
    assert removed.applied(REGO) == REGO.replace("\tcount(b.found) > 2\n", "")


def test_python_gets_other_operators_and_constants_outside_docstrings_annotations_and_errors() -> None:
    assert described(list(python_mutants(Path("a"), PYTHON)), PYTHON) == {
        "5: 3 → 4",
        "11: value == 0 → (value != 0)",
        "11: 0 → 1",
        "12: continue → pass",
        "13: not value > LIMIT and value → (not value > LIMIT or value)",
        "13: not value > LIMIT → (value > LIMIT)",
        "13: value > LIMIT → (value >= LIMIT)",
        "14: value + 1 → (value - 1)",
        "14: 1 → 2",
    }


def test_modules_that_wait_or_send_are_not_pure() -> None:
    assert is_pure(PYTHON)
    assert not is_pure("import asyncio\n")
    assert not is_pure("from aiohttp import web\n")


def test_a_seed_draws_the_same_sample_of_both_languages() -> None:
    for language in ("rego", "python"):
        sample = drawn(language, 20, 7)
        assert sample == drawn(language, 20, 7)
        assert sample != drawn(language, 20, 8)
        assert len({(mutant.path, mutant.line) for mutant in sample}) == len(sample) > 20
        assert all((ROOT / mutant.path).is_file() for mutant in sample)
