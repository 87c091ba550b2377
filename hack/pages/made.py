"""The generated reference pages, each as a function that returns its text; `make reference` writes them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from hack.pages.commands import command_pages, commands_page
from hack.pages.crds import crds_page
from hack.pages.logs import logs_page
from hack.pages.metrics import metrics_page
from hack.pages.rego import rego_page
from hack.pages.settings import settings_page
from hack.pages.states import states_page

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    **{name: functools.partial(commands_page, REFERENCE / name) for name in command_pages(REFERENCE)},
    "all-settings.md": settings_page,
    "metrics.md": lambda: metrics_page((REFERENCE / "metrics.md").read_text(encoding="utf-8")),
    "crds.md": crds_page,
    "rego.md": rego_page,
    "states.md": states_page,
    "logs.md": lambda: logs_page((REFERENCE / "logs.md").read_text(encoding="utf-8")),
}


if __name__ == "__main__":
    for _name, _make in PAGES.items():
        (REFERENCE / _name).write_text(_make(), encoding="utf-8")
