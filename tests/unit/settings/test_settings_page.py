"""The page of settings has a row for every setting, with what the code says of it."""

import re
from pathlib import Path

import pytest

from bridge.settings.model import PREFIX, RELOADED, SETTINGS, Settings

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| (`.*)$", PAGE, re.MULTILINE)
ROWS = {name: line for line in LINES for name in re.findall(r"`(\w+)`", line.split("|")[0])}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_row_with_its_variable_and_its_default(name: str) -> None:
    first, variable, _, default, _ = [cell.strip() for cell in ROWS[name].split("|")][:5]
    alone = first == f"`{name}`"
    if alone:
        assert f"`{PREFIX}{name.upper()}`" in variable
        value = getattr(Settings(), name)
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            assert default == f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_the_page_names_what_is_reloaded() -> None:
    part = PAGE.partition("## Reloading")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", part.strip().partition("\n\n")[0])) & set(SETTINGS) == set(RELOADED)


def test_the_page_names_no_setting_that_is_none() -> None:
    assert ROWS.keys() - {"listen"} <= set(SETTINGS)
