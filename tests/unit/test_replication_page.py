"""Pages that name a test for each promise: the tests are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("many-opas", "replication", "threat-model")


@pytest.mark.parametrize("page", PAGES)
def test_the_tests_that_the_page_names_exist(page: str) -> None:
    named: dict[str, set[str]] = {}
    for row in (ROOT / "docs" / "auditors" / f"{page}.md").read_text().splitlines():
        file = ""
        for word in re.findall(r"`((?:tests/\S+\.py)|(?:test_\w+))`", row):
            if word.startswith("tests/"):
                file = word
            else:
                named.setdefault(file, set()).add(word)
    assert sum(map(len, named.values())) > 20
    for file, tests in named.items():
        found = set(re.findall(r"^(?:async )?def (test_\w+)", (ROOT / file).read_text(), re.MULTILINE))
        assert tests <= found, file
