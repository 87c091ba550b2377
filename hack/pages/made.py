"""The generated reference pages, each as a function that returns its text; `make reference` writes them."""

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
_UPDATES: dict[str, Callable[[str], str]] = {  # of a page's present text
    "settings.md": settings_page,
    "metrics.md": metrics_page,
    "crds.md": crds_page,
    "rego.md": rego_page,
    "states.md": states_page,
    "logs.md": logs_page,
}


def _updated(name: str) -> str:
    return _UPDATES[name]((REFERENCE / name).read_text(encoding="utf-8"))


PAGES: dict[str, Callable[[], str]] = {
    **{name: functools.partial(commands_page, REFERENCE / name) for name in command_pages(REFERENCE)},
    **{name: functools.partial(_updated, name) for name in _UPDATES},
}


if __name__ == "__main__":
    for _name, _make in PAGES.items():
        (REFERENCE / _name).write_text(_make(), encoding="utf-8")
