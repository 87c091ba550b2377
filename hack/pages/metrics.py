"""The table of all metrics, in the page that explains them."""

import re

from bridge.telemetry.metrics import FAMILIES, Family

_TABLE = re.compile(r"^\| metric \|.*?\n(?=\n|\Z)", re.MULTILINE | re.DOTALL)


def metrics_page(text: str) -> str:
    """Return the page with the current table."""
    return _TABLE.sub(lambda _: f"{_table()}\n", text, count=1)


def _table() -> str:
    rows = [_row(family) for family in FAMILIES]
    return "\n".join(["| metric | type | labels | meaning |", "|---|---|---|---|", *rows])


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    if family.values:
        labels += ": " + ", ".join(family.values)
    kind = "gauge" if family.type == "info" else family.type
    return f"| `{family.exposed}` | {kind} | {labels} | {family.text} |"
