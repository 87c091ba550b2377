"""The page on replication names a test for each fault: they are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "replication.md"


def test_the_tests_that_the_page_names_exist() -> None:
    named: dict[str, set[str]] = {}
    for row in PAGE.read_text().splitlines():
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
