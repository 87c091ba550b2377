"""The table of all metrics, in the page that explains them."""

from __future__ import annotations

import re

from bridge.telemetry.metrics import metrics_table

_TABLE = re.compile(r"^\| metric \|.*?\n(?=\n|\Z)", re.MULTILINE | re.DOTALL)


def metrics_page(text: str) -> str:
    """Return the page with the current table."""
    return _TABLE.sub(lambda _: f"{metrics_table()}\n", text, count=1)
