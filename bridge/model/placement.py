"""Which kinds of objects are placed, by which decision, and how far that goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["Off", "Report", "Write"]
Path = tuple[str, ...]  # of a document, from the root of OPA's data
DEFAULT_DECISION = "io/k8s/federation/admission"


@dataclass(frozen=True, slots=True)
class Placed:
    """One kind (`<group>/<Kind>`) whose objects are placed.

    With mode Write what differs is written, with Report it is only told in the log, and Off is as if it were not there.
    """

    type_id: str
    mode: Mode
    decision: Path


def decision_path(text: str) -> Path:
    """A document's path from any of its spellings: `/v1/data/a/b`, `a/b`, `data.a.b`.

    Raises ValueError for one that names no document.
    """
    body = text.removeprefix("/v1/data").strip("/")
    parts = tuple(body.split("/" if "/" in body else "."))
    parts = parts[1:] if parts[0] == "data" and len(parts) > 1 else parts
    if not all(parts) or any(character in body for character in ' \t\n"?#'):
        raise ValueError(f"{text!r} is no decision: write the path of a document, such as {DEFAULT_DECISION}")
    return parts
