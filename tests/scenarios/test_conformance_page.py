"""docs/reference/conformance.md names scenarios and files that there are."""

from __future__ import annotations

import re
from pathlib import Path

from tests.scenarios.cases import all_cases

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "conformance.md"
NAMED = re.compile(r"\[(\w+)\](?![:(])")
DEFINED = re.compile(r"^\[(\w+)\]: (\S+)$", re.MULTILINE)
FILES = re.compile(r"`((?:tests|rego|docs)/[\w/.]+)`")


def test_the_page_links_to_every_scenario_that_it_names() -> None:
    text = PAGE.read_text()
    links = dict(DEFINED.findall(text))
    assert [link for link in links.values() if not (PAGE.parent / link).is_file()] == []
    assert all(link.split("/")[-2] == name for name, link in links.items())
    assert set(NAMED.findall(text)) <= links.keys()


def test_every_scenario_is_on_the_page() -> None:
    rows = "\n".join(line for line in PAGE.read_text().splitlines() if line.startswith("|"))
    missing = [case for case in all_cases() if case.name not in NAMED.findall(rows)]
    assert not missing, "add to the table of further scenarios, and to the links at the end:\n" + "\n".join(
        [f"| [{case.name}] | {case.title} |" for case in missing]
        + [f"[{case.name}]: ../../tests/scenarios/{case.name}/expected.yaml" for case in missing]
    )


def test_the_files_that_the_page_names_exist() -> None:
    assert [file for file in FILES.findall(PAGE.read_text()) if not (ROOT / file).exists()] == []
