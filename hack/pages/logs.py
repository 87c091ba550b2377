"""The log events of the program, found in its source."""

import ast
from collections.abc import Iterator
from pathlib import Path

BRIDGE = Path(__file__).resolve().parents[2] / "bridge"
LEVELS = ("debug", "info", "warning", "error")
_AREAS = {
    "Start, settings, listeners, stop": ("sidecar", "destinations", "http", "settings", "telemetry"),
    "Replication: from the source to OPA": ("replicator",),
    "Queries to OPA": ("opa",),
    "Admins' Rego": ("policy_loader",),
    "Statuses, audit, placement": ("remediator",),
    "Admission": ("admission",),
    "Kubernetes Events": ("kube",),
    "The page": ("web",),
}  # the title of each section, and the packages that log its events


def logs_page(page: str) -> str:
    """Return the page with its generated tables: everything below a heading."""
    parts = [page.partition("\n## ")[0].rstrip() + "\n"]
    found = sorted(set(logged()))
    for title, areas in _AREAS.items():
        rows = [
            f"| `{event}` | {' or '.join(levels)} | {', '.join(f'`{key}`' for key in keys)} |"
            for area, event, levels, keys in found
            if area in areas
        ]
        if rows:
            parts.append("\n".join([f"## {title}", "", "| event | level | keys |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def logged() -> Iterator[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    """Yield the package, the event, its levels and its keys for each place that logs an event."""
    for file in sorted(BRIDGE.rglob("*.py")):
        area = file.relative_to(BRIDGE).parts[0]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and (levels := _levels(node.func)):
                event = node.args[0]
                if isinstance(event, ast.Constant):
                    keys = tuple(keyword.arg or "…" for keyword in node.keywords)
                    yield area, str(event.value), levels, keys


def _levels(called: ast.expr) -> tuple[str, ...]:
    if isinstance(called, ast.IfExp):
        return (*_levels(called.body), *_levels(called.orelse))
    if isinstance(called, ast.Name) and called.id == "write":  # of admission, by its outcome
        return ("info", "warning")
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "log":
        return (called.attr,) if called.attr in LEVELS else ()
    return ()
