"""Parts of the reference that are made from the code, as Markdown; pages have them word for word."""

from __future__ import annotations

from bridge.runtime.metric_families import FAMILIES, Family


def metrics_table() -> str:
    """The table of all metrics."""
    rows = [_metric_row(family) for family in FAMILIES]
    return "\n".join(["| metric | type | labels | |", "|---|---|---|---|", *rows])


def _metric_row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    if family.values:
        labels += ": " + ", ".join(family.values)
    kind = "gauge" if family.type == "info" else family.type
    return f"| `{family.exposed}` | {kind} | {labels} | {family.text} |"
