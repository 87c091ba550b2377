"""The sinks of statuses: a cluster, or memory for a folder of manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bridge.model.keys import Key

Patch = Mapping[str, Any]  # {status: its fields} or {metadata: {annotations}}, a merge patch (RFC 7386)
Names = Mapping[str, str]  # {controllerName, kind}, from which the conditions of a policy kind have their types


class WriteConflict(Exception):
    """The object has changed since its status was computed."""


class Gone(Exception):
    """The API server does not have the object, or does not serve its type at present."""


class WriteRefused(Exception):
    """The API server rejects the status; the text has the cause and the fix."""


class StatusSink(Protocol):
    """Accepts patches of objects."""

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:
        """Patch an object, if it still has `resource_version`: its status, or its annotations.

        Raises Conflict, Gone or WriteRefused; other errors may be retried.
        """
        ...

    def overlay(self, key: Key, current: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an object's current `{status, annotations}`, with writes that do not come back from the source."""
        ...

    def may_write(self) -> bool:
        """Return whether this bridge writes now."""
        ...

    def recall(self) -> Sequence[Names]:
        """Return the last value of `remember`, from this bridge or an earlier one."""
        ...

    def remember(self, names: Sequence[Names]) -> None:
        """Store the names of marks, so the marks can be found after their kinds are deleted."""
        ...


class MemorySink:
    """Statuses of a folder of manifests: kept in memory, never written to the files."""

    def __init__(self) -> None:
        self.statuses: dict[Key, dict[str, Any]] = {}
        self.annotations: dict[Key, dict[str, Any]] = {}
        self._names: Sequence[Names] = ()

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:  # noqa: ARG002
        """Keep the patch; there are no other writers."""
        self.statuses.setdefault(key, {}).update(patch.get("status", {}))
        self.annotations.setdefault(key, {}).update(patch.get("metadata", {}).get("annotations", {}))

    def overlay(self, key: Key, current: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the object's current state with the kept patches."""
        annotations = {**current["annotations"], **self.annotations.get(key, {})}
        return {
            **current,
            "status": {**current["status"], **self.statuses.get(key, {})},
            "annotations": {name: value for name, value in annotations.items() if value is not None},
        }

    def may_write(self) -> bool:
        """Return True: there are no other writers."""
        return True

    def recall(self) -> Sequence[Names]:
        """Return nothing: no file has earlier names."""
        return self._names

    def remember(self, names: Sequence[Names]) -> None:
        """Keep them for the lifetime of this process, like the marks themselves."""
        self._names = tuple(names)
