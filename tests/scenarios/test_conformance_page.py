"""docs/reference/conformance.md and constraint.md name scenarios and files that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.scenarios.cases import all_cases

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "conformance.md"
CONSTRAINTS = ROOT / "docs" / "reference" / "constraint.md"
NAMED = re.compile(r"\[(\w+)\](?![:(])")
DEFINED = re.compile(r"^\[(\w+)\]: (\S+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
FILES = re.compile(r"`((?:tests|rego|docs)/[\w/.]+)`")


@pytest.mark.parametrize("page", [PAGE, CONSTRAINTS], ids=lambda page: page.stem)
def test_the_page_links_to_every_scenario_that_it_names(page: Path) -> None:
    text = page.read_text()
    links = dict(DEFINED.findall(text))
    assert [link for link in links.values() if not (page.parent / link).is_file()] == []
    assert all(link.split("/")[-2] == name for name, link in links.items())
    assert set(NAMED.findall(CODE.sub("", text))) <= links.keys()


def test_every_scenario_is_on_the_page() -> None:
    rows = "\n".join(line for line in PAGE.read_text().splitlines() if line.startswith("|"))
    missing = [case for case in all_cases() if not case.constrained and case.name not in NAMED.findall(rows)]
    assert not missing, "add to the table of further scenarios, and to the links at the end:\n" + "\n".join(
        [f"| [{case.name}] | {case.title} |" for case in missing]
        + [f"[{case.name}]: ../../tests/scenarios/{case.name}/expected.yaml" for case in missing]
    )


def test_every_scenario_of_constraints_is_on_their_page() -> None:
    rows = "\n".join(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("|"))
    assert [case.name for case in all_cases() if case.constrained and case.name not in NAMED.findall(rows)] == []


def test_the_files_that_the_page_names_exist() -> None:
    assert [file for file in FILES.findall(PAGE.read_text()) if not (ROOT / file).exists()] == []
