"""What one object of an author says: its submission, or why nobody can take it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bridge.model.changes import Object
from bridge.model.nesting import decode
from bridge.modules.submissions import Problem, Submission


@dataclass(frozen=True, slots=True)
class Reading:
    """An object's content. With `problems` the submission is none that may be handed in.

    `policy` tells whether the object is there to hold policies, and not data alone.
    """

    submission: Submission
    policy: bool
    problems: tuple[Problem, ...] = ()


def field_of(obj: Object, name: str) -> Any:
    """A field as plain values, whether the object came parsed or not; None where there is none that can be decoded."""
    value = obj.get(name)
    try:
        return decode(value) if isinstance(value, msgspec.Raw) else value
    except msgspec.DecodeError:
        return None


def created_at(obj: Object) -> str:
    """The creationTimestamp, "" where there is none."""
    return str(obj["metadata"].get("creationTimestamp") or "")


def version_of(content: Mapping[str, Any]) -> str:
    """A name for this content: the same as long as nothing in it changes, whatever else of the object does."""
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:12]


def flaw(message: str, *, code: str, file: str = "", line: int = 0) -> Problem:
    """A problem that was found before anybody looked at the Rego."""
    return Problem(file, line, 0, code, message)
