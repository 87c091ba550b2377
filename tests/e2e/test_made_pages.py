"""Reference pages that come from the code are as the code is."""

import pytest

from hack.pages.made import DOCS, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_in_step_with_the_code(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "`make reference` writes it again"
