"""Reports on an object to users: as an Event, or in the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

EventType = Literal["Normal", "Warning"]


class Record(Protocol):
    """Reports on one object (with apiVersion, kind and metadata). Returns immediately and never raises.

    `reason` is one CamelCase word that programs match (`DecisionFailed`), `message` a line for people.
    """

    def __call__(self, regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None: ...  # noqa: D102


def record_nothing(regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
    """Report nothing: a Record for places without Events."""
