"""The page of numbered rules and the Rego that implements them name the same numbers."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/semantics.md"
IN_PYTHON = {"K5"}  # defaults of manifests: no rule about policies, the API server's own work
_NUMBER = r"[KTPCFOS][1-9]"


def _on_the_page() -> set[str]:
    return set(re.findall(rf"^\| ({_NUMBER}) \|", PAGE.read_text(), re.MULTILINE))


def _in_the_rego() -> set[str]:
    text = " ".join(file.read_text() for file in (ROOT / "rego").rglob("*.rego") if "_test" not in file.name)
    text = re.sub(r"\n#\s+", " ", text)
    numbers: set[str] = set()
    for named in re.findall(rf"semantics ({_NUMBER}(?:(?:, | and | to |; ){_NUMBER})*)", text):
        for first, _, last in re.findall(rf"({_NUMBER})( to ({_NUMBER}))?", named):
            to = int(last[1]) if last else int(first[1])
            numbers |= {f"{first[0]}{number}" for number in range(int(first[1]), to + 1)}
    return numbers


def test_every_rule_on_the_page_is_named_by_the_rego_that_implements_it() -> None:
    assert _on_the_page() - _in_the_rego() - IN_PYTHON == set()


def test_every_number_that_the_rego_names_is_on_the_page() -> None:
    assert _in_the_rego() - _on_the_page() == set()
