"""Where statuses go: to a cluster, or to memory for a folder of manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from bridge.model.keys import Key

Status = Mapping[str, Any]


class Conflict(Exception):
    """The object has changed since its status was computed."""


class Gone(Exception):
    """There is no such object any more."""


class WriteRefused(Exception):
    """The object's owner does not take the status; its text says why and what would mend it."""


class StatusSink(Protocol):
    """Takes parts of statuses for objects."""

    async def write(self, key: Key, part: Status, resource_version: str) -> None:
        """Put `part` over an object's status, if the object still has `resource_version`.

        Raises Conflict, Gone or WriteRefused; what else goes wrong may be tried again.
        """
        ...

    def overlay(self, key: Key) -> Status:
        """What was written here and does not come back through the source, as parts of the status."""
        ...

    def may_write(self) -> bool:
        """Whether this bridge is the one that writes now."""
        ...


class MemorySink:
    """Statuses of a folder of manifests: kept here, never written to the files."""

    def __init__(self) -> None:
        self.statuses: dict[Key, dict[str, Any]] = {}

    async def write(self, key: Key, part: Status, resource_version: str) -> None:  # noqa: ARG002
        """Keep the part; there is no one else to conflict with."""
        self.statuses.setdefault(key, {}).update(part)

    def overlay(self, key: Key) -> Status:
        """What was kept for the object."""
        return self.statuses.get(key, {})

    def may_write(self) -> bool:
        """Nobody else writes here."""
        return True
