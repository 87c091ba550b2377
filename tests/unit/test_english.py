"""The worst habits of the project's English do not return to its docs, messages and comments."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READ = ["README.md", "docs", "bridge", "rego", "hack", "deploy"]
GENERATED = re.compile(r"^docs/auditors/conformance\.md$|^bridge/web/static/vendor/|_test\.rego$|^docs/images/")
BEGIN = r"(?:^|[.:;] |\| |- |# |\* |\"\"\")"  # of a sentence
HABITS = {
    "a sentence begins with its possessor: name the subject first": re.compile(
        BEGIN + r"Of (?:an?|the|each|every|all|two|several|many|these|those|some|both|what)\b[^.?]*,"
    ),
    "a sentence begins with a pronoun for a person: name the actor": re.compile(
        BEGIN + r"(?:Whoever|Whichever|Nobody|Somebody|Someone)\b"
    ),
    "something that does not count: it is ignored, or does not apply": re.compile(
        r"\b(?:do|does) not count\b|\bcounts? (?:no more|nothing)\b"
    ),
}


def _lines() -> list[tuple[str, int, str]]:
    listed = subprocess.run(["git", "ls-files", *READ], cwd=ROOT, capture_output=True, text=True, check=True)
    texts = {".md", ".py", ".rego", ".yaml", ".js", ".html", ".txt"}
    names = [name for name in listed.stdout.splitlines() if Path(name).suffix in texts and not GENERATED.search(name)]
    assert len(names) > 500
    return [
        (name, number, line)
        for name in names
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
    ]


LINES = _lines()


@pytest.mark.parametrize("habit", HABITS)
def test_no_text_has_a_habit_that_readers_stumble_over(habit: str) -> None:
    assert [f"{name}:{number}: {line.strip()}" for name, number, line in LINES if HABITS[habit].search(line)] == []


def test_the_habits_are_recognized() -> None:
    sentences = ["Of two paths, the later one wins", "x. Whoever asks gets it", "its policies do not count there"]
    assert [bool(pattern.search(text)) for pattern, text in zip(HABITS.values(), sentences, strict=True)] == [True] * 3
