"""Hooks for MkDocs: the order of the sections, and the files outside docs/ that pages link to."""

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = ["index.md", "tutorials", "how-to", "reference", "explanation", "glossary.md", "project"]
UNLISTED = ["auditors", "appendix"]  # evidence and complete lists: linked, and found by the search
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )(?![a-z]+:|#)([^)\s#]+)", re.MULTILINE)
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?//[^"]*"|"""
    r'''<link(?![^>]*rel="(?:canonical|prev|next)")[^>]*\shref="(?:https?:)?//[^"]*"'''
)
log = logging.getLogger("mkdocs.hooks.site")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the project's own pages, and the files outside docs/ that pages link to."""
    from mkdocs.structure.files import File

    pages = {file.src_uri: f"docs/{file.src_uri}" for file in files.documentation_pages()}
    pages |= {_on_site(name): name for name in PROJECT}
    outside = {place for name in pages.values() for _, place in _links(name)}
    for name in PROJECT:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, _on_site(name), content=_rewritten(text, name)))
    for place in sorted(outside):
        if not place.startswith("docs/") and _on_site(place) not in pages and (ROOT / place).is_file():
            files.append(File.generated(config, place, abs_src_path=str(ROOT / place)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite links to files outside docs/ to their places on the site."""
    return markdown if page.file.generated_by else _rewritten(markdown, f"docs/{page.file.src_uri}")


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Reject a page that loads something from another host."""
    if fetched := _FETCHED.findall(output):
        log.warning("%s fetches from other hosts: %s", page.file.src_uri, fetched)
    return output


def on_nav(nav: Any, **_: Any) -> Any:
    """Sort the sections in the order in which readers need them, without those that are not read in order."""
    nav.items = sorted((item for item in nav.items if _section(item) not in UNLISTED), key=_rank)
    return nav


def _rank(item: Any) -> int:
    return SECTIONS.index(_section(item))


def _section(item: Any) -> str:
    page = item if item.is_page else next(_pages(item))
    return str(page.file.src_uri.partition("/")[0])


def _pages(item: Any) -> Any:
    for child in item.children:
        if child.is_page:
            yield child
        else:
            yield from _pages(child)


def _links(page: str) -> list[tuple[str, str]]:
    """Return the links of a page: as written, and their target relative to the root of the repository."""
    found = _LINK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [(link, _place(page, link)) for _, link in found]


def _place(page: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _on_site(place: str) -> str:
    """Return the place of a repository file on the site."""
    if place in PROJECT:
        return f"project/{place.lower()}"
    return "index.md" if place == "README.md" else place.removeprefix("docs/")


def _rewritten(text: str, page: str) -> str:
    """Return the text of a page with its links rewritten for the site."""
    here = posixpath.dirname(_on_site(page)) or "."
    return _LINK.sub(lambda match: match[1] + posixpath.relpath(_on_site(_place(page, match[2])), here), text)
