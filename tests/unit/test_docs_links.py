"""Links in README.md and docs/ lead somewhere, paths in code exist, and every heading has its text."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*TOP, *sorted(DOCS.rglob("*.md"))]
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)
PATH = re.compile(r"`((?:bridge|deploy|docs|examples|hack|rego|tests|\.ci|\.github)/[\w./-]*)`")
DATA_PATHS = DOCS / "appendix" / "rego.md"  # lists paths of OPA's data API
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def _text(page: Path) -> str:
    """A page without its code blocks, of which the fence stays."""
    return re.sub(r"^```.*?^```$", "```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def _links(page: Path) -> Iterator[str]:
    for inline, reference in LINK.findall(CODE.sub("", _text(page))):
        link = inline or reference
        if not re.match(r"[a-z]+:", link):
            yield link


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in HEADING.findall(_text(page))]
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in titles}


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in _anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in _links(page) if not _leads_somewhere(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_paths_in_code_exist(page: Path) -> None:
    """A path below `bridge/` may be one of packages of Rego, whose files are below `rego/bridge/`."""
    paths = set() if page == DATA_PATHS else set(PATH.findall(_text(page)))
    assert [path for path in sorted(paths) if not (ROOT / path).exists() and not (ROOT / "rego" / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_heading_has_text_below_it_and_a_column_has_a_heading(page: Path) -> None:
    lines = [line for line in _text(page).splitlines() if line.strip()]
    followed = zip(lines, [*lines[1:], "# end"], strict=True)
    titles = re.findall(r"^(\|.*\|)\n\|[-:| ]+\|$", _text(page), re.MULTILINE)
    assert [line for line, after in followed if HEADING.match(line) and HEADING.match(after)] == []
    assert [title for title in titles if not all(cell.strip() for cell in title.strip("|").split("|"))] == []
