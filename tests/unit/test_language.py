"""The word list for docs, docstrings, comments, help and descriptions."""

from __future__ import annotations

import io
import re
import tokenize

import pytest

from hack.language import ROOT, WORDS, findings, main, read_words

LIST = read_words('# a comment\nwhoever -> "clients"\nis no (?:text|object) -> "is not a ..."\n')


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("page.md", "Whoever reads this is lost.\n"),
        ("code.py", '"""Serve whoever asks."""\n'),
        ("code.py", "x = 1  # for whoever asks\n"),
        ("code.py", 'option(help="Whoever asks.")\n'),
        ("code.py", 'raise ValueError(f"the value is no text: {value}")\n'),
        ("code.py", "def test_that_whoever_asks_is_served() -> None: ...\n"),
        ("rule.rego", "# description: Whoever asks.\n"),
        ("rule.rego", "test_that_whoever_asks_is_served if true\n"),
        ("rules.yaml", "description: Whoever asks.\n"),
        ("page.md", "A value that is no text fails.\n"),
    ],
)
def test_an_expression_of_the_list_is_found_in_prose(path: str, text: str) -> None:
    assert len(list(findings(path, text, LIST))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("page.md", "```console\n$ bridge whoever\n```\n"),
        ("page.md", "The key `whoever` is reserved.\n"),
        ("code.py", 'whoever = "whoever"\n'),
        ("rules.yaml", 'kind: "whoever asks"\n'),
        ("rule.rego", "whoever := 1\n"),
    ],
)
def test_code_and_recorded_output_are_not_checked(path: str, text: str) -> None:
    assert list(findings(path, text, LIST)) == []


def test_a_finding_names_the_place_and_the_replacement() -> None:
    (line,) = findings("page.md", "first\nsecond, whoever\n", LIST)
    assert line == "page.md:2: 'whoever': write \"clients\""


def test_the_project_avoids_the_expressions_of_its_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert read_words(WORDS.read_text(encoding="utf-8"))
    assert main() == 0, capsys.readouterr().err


# Words that the glossary replaces, as parts of names in code: `reported`, `fix`, `query_input`, `received`, `again`.
REPLACED = {"anew", "asked", "heard", "mend", "mended", "mends", "told", "whoever"}


def names_in(text: str) -> set[str]:
    """Return the names of a Python file."""
    return {one.string for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type == tokenize.NAME}


@pytest.mark.parametrize("folder", ["bridge", "hack"])
def test_names_in_code_use_the_words_of_the_glossary(folder: str) -> None:
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in (ROOT / folder).rglob("*.py")
        for name in names_in(file.read_text(encoding="utf-8"))
        if REPLACED & set(name.lower().split("_"))
    }
    assert found == set()


def test_names_in_rego_use_the_words_of_the_glossary() -> None:
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in (ROOT / "rego").rglob("*.rego")
        for name in re.findall(r"\w+", re.sub(r"\"[^\"]*\"|`[^`]*`|#.*", "", file.read_text(encoding="utf-8")))
        if REPLACED & set(name.lower().split("_"))
    }
    assert found == set()
