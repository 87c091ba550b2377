"""How anybody tells a person about an object where that person looks: as an Event, or as a line of the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

EventType = Literal["Normal", "Warning"]


class Record(Protocol):
    """Tells of one object (with apiVersion, kind and metadata). Returns at once and never raises.

    `reason` is one word in CamelCase that machines match (`DecisionFailed`), `message` a line for a person.
    """

    def __call__(self, regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None: ...  # noqa: D102


def record_nothing(regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
    """A Record for who has nowhere to tell it."""
