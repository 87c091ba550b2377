"""`make reference`: write the reference pages that are generated from the code."""

from __future__ import annotations

from hack.pages.made import PAGES, REFERENCE

for _name, _make in PAGES.items():
    _page, _text = REFERENCE / _name, _make()
    if not _page.exists() or _page.read_text(encoding="utf-8") != _text:
        _page.write_text(_text, encoding="utf-8")
        print(f"reference: wrote {_page.relative_to(REFERENCE.parents[1])}")
