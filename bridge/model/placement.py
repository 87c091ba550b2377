"""The kinds of objects to place, their decisions, and modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["Off", "Report", "Write"]
Path = tuple[str, ...]  # of a document, from the root of OPA's data
DEFAULT_DECISION = "io/k8s/federation/admission"


@dataclass(frozen=True, slots=True)
class Placed:
    """One kind (`<group>/<Kind>`) whose objects are placed.

    Mode Write writes differences, Report only logs them, and Off ignores the entry.
    """

    type_id: str
    mode: Mode
    decision: Path


def decision_path(text: str) -> Path:
    """Return a document's path from any of its forms: `/v1/data/a/b`, `a/b`, `data.a.b`.

    Raises ValueError for a text that is not a document's path.
    """
    body = text.removeprefix("/v1/data").strip("/")
    parts = tuple(body.split("/" if "/" in body else "."))
    parts = parts[1:] if parts[0] == "data" and len(parts) > 1 else parts
    if not all(parts) or any(character in body for character in ' \t\n"?#'):
        raise ValueError(f"{text!r} is not a decision: write the path of a document, such as {DEFAULT_DECISION}")
    return parts
