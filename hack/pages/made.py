"""The generated pages, each as a function that returns its text; `make reference` writes them."""

import functools
from collections.abc import Callable
from pathlib import Path

from hack.pages.bridge_crds import crds_page
from hack.pages.logs import logs_page
from hack.pages.metrics import metrics_page
from hack.pages.rego_packages import rego_page
from hack.pages.settings import settings_page
from hack.pages.states import states_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
_UPDATES: dict[str, Callable[[str], str]] = {  # of a page's present text
    "reference/settings.md": settings_page,
    "appendix/metrics.md": metrics_page,
    "appendix/crds.md": crds_page,
    "appendix/rego.md": rego_page,
    "appendix/states.md": states_page,
    "appendix/logs.md": logs_page,
}


def _updated(name: str) -> str:
    return _UPDATES[name]((DOCS / name).read_text(encoding="utf-8"))


PAGES: dict[str, Callable[[], str]] = {name: functools.partial(_updated, name) for name in _UPDATES}


if __name__ == "__main__":
    for _name, _make in PAGES.items():
        (DOCS / _name).write_text(_make(), encoding="utf-8")
