"""The page of settings names what is reloaded."""

import re
from pathlib import Path

from bridge.settings.model import RELOADED, SETTINGS

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")


def test_the_page_names_the_settings_that_are_reloaded() -> None:
    part = PAGE.partition("## Reloading")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", part.strip().partition("\n\n")[0])) & set(SETTINGS) == set(RELOADED)
