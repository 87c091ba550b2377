"""Where statuses go: to a cluster, or to memory for a folder of manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bridge.model.keys import Key

Patch = Mapping[str, Any]  # {status: its fields} or {metadata: {annotations}}, a merge patch (RFC 7386)
Names = Mapping[str, str]  # {controllerName, kind}, from which the conditions of a policy kind have their types


class WriteConflict(Exception):
    """The object has changed since its status was computed."""


class Gone(Exception):
    """There is no such object any more."""


class WriteRefused(Exception):
    """The object's owner does not take the status; its text says why and what would mend it."""


class StatusSink(Protocol):
    """Takes patches of objects."""

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:
        """Patch an object, if it still has `resource_version`: its status, or its annotations.

        Raises Conflict, Gone or WriteRefused; what else goes wrong may be tried again.
        """
        ...

    def overlay(self, key: Key, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        """What an object shows (`{status, annotations}`) with what was written and does not come back by the source."""
        ...

    def may_write(self) -> bool:
        """Whether this bridge is the one that writes now."""
        ...

    def recall(self) -> Sequence[Names]:
        """What `remember` was told last, by this bridge or one before it."""
        ...

    def remember(self, names: Sequence[Names]) -> None:
        """Keep the names under which objects are marked, so that the marks can be found when their kinds are gone."""
        ...


class MemorySink:
    """Statuses of a folder of manifests: kept here, never written to the files."""

    def __init__(self) -> None:
        self.statuses: dict[Key, dict[str, Any]] = {}
        self.annotations: dict[Key, dict[str, Any]] = {}
        self._names: Sequence[Names] = ()

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:  # noqa: ARG002
        """Keep the patch; there is no one else to conflict with."""
        self.statuses.setdefault(key, {}).update(patch.get("status", {}))
        self.annotations.setdefault(key, {}).update(patch.get("metadata", {}).get("annotations", {}))

    def overlay(self, key: Key, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the object shows with what was kept."""
        annotations = {**shown["annotations"], **self.annotations.get(key, {})}
        return {
            **shown,
            "status": {**shown["status"], **self.statuses.get(key, {})},
            "annotations": {name: value for name, value in annotations.items() if value is not None},
        }

    def may_write(self) -> bool:
        """Nobody else writes here."""
        return True

    def recall(self) -> Sequence[Names]:
        """What was marked before is not shown by any file."""
        return self._names

    def remember(self, names: Sequence[Names]) -> None:
        """Keep them as long as this process lives, like the marks themselves."""
        self._names = tuple(names)
