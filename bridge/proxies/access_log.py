"""Access logs of proxies: one JSON object a line, counted by what the proxy answered."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

# What a line says, by the names of the default formats of Envoy Gateway and Istio.
NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "status": ("response_code",),
        "flags": ("response_flags",),
        "details": ("response_code_details",),
        "route": ("route_name",),
        "host": (":authority", "authority"),
        "path": ("x-envoy-origin-path", "path"),
        "method": ("method",),
    }
)
_LONGEST = 1 << 20  # bytes of a line


class Reply(NamedTuple):
    """What a proxy answered: the name of the route, the status, Envoy's response flags and details."""

    route: str
    status: int
    flags: str
    details: str


@dataclass(slots=True)
class Replies:
    """The numbers of lines: of each answer, and of those that are not read."""

    answers: Counter[Reply] = field(default_factory=Counter)
    broken: int = 0  # not JSON, or without a status


def read_line(line: bytes, names: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what a line says by the names of NAMES; `names` are the log's own. None for a line of another form."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return {
        name: next((found[one] for one in ((names[name],) if name in names else known) if one in found), None)
        for name, known in NAMES.items()
    }


def count_replies(lines: Iterable[bytes], names: Mapping[str, str]) -> Replies:
    """Count the lines of a log by what the proxy answered. Blank lines are ignored."""
    counted = Replies()
    for line in lines:
        if not line.strip():
            continue
        found = read_line(line, names) if len(line) <= _LONGEST else None
        status = _status(found["status"]) if found else None
        if found is None or status is None:
            counted.broken += 1
        else:
            counted.answers[Reply(_text(found["route"]), status, _text(found["flags"]), _text(found["details"]))] += 1
    return counted


def _status(value: Any) -> int | None:
    """Return a status; 0 is that of a connection that ended without one."""
    text = str(value)
    return int(text) if not isinstance(value, bool) and text.isascii() and text.isdecimal() and len(text) <= 3 else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value != "-" else ""
