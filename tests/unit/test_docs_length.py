"""README.md and the pages of docs/ that are read in order stay short enough to be read."""

import re
from pathlib import Path

from hack.pages.site import SECTIONS, UNLISTED

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MAX_WORDS = 60_000


def _words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def _listed() -> list[Path]:
    pages = (page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in UNLISTED)
    return [ROOT / "README.md", *pages]


def test_the_reading_order_has_at_most_60000_words() -> None:
    words = {str(page.relative_to(ROOT)): _words(page) for page in _listed()}
    assert len(words) > 40
    assert sum(words.values()) <= MAX_WORDS, sorted(words.items(), key=lambda item: -item[1])[:12]


def test_every_section_of_the_docs_is_in_the_reading_order_or_outside_of_it() -> None:
    sections = {path.name for path in DOCS.iterdir() if path.is_dir() or path.suffix == ".md"} - {"images"}
    assert sections | {"project"} == {*SECTIONS, *UNLISTED}


def test_the_index_names_pages_outside_of_the_reading_order() -> None:
    _, _, outside = (DOCS / "index.md").read_text(encoding="utf-8").partition("Outside of the reading order")
    assert {f"{section}/README.md" for section in UNLISTED} <= set(re.findall(r"\]\(([^)#]+)\)", outside))
