"""The state of a served bundle in OPA: active, rejected, or unknown; and conflicts with OPA's documents."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from bridge.opa.bundle import Bundle
from bridge.opa.client import BundleStatus, Opa
from bridge.opa.config import BUNDLE_NAME
from bridge.opa.errors import OpaRejected
from bridge.opa.paths import pointer
from bridge.policy_loader.endpoint import BundleEndpoint
from bridge.policy_loader.ownership import overlap
from bridge.policy_loader.submissions import DataPath

_AT_ONCE = 16  # queries to OPA


class State(Enum):
    """The state of a bundle in OPA."""

    WAITING = auto()
    ACTIVE = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class Looked:
    """The state of the served bundle; for a rejected one OPA's `errors` (with message and location)."""

    state: State
    message: str = ""
    errors: Sequence[Mapping[str, Any]] = ()


class Activation:
    """Serves bundles to one OPA, and checks their state. Methods raise OpaError if OPA does not respond."""

    def __init__(self, opa: Opa, endpoint: BundleEndpoint) -> None:
        self.revision = ""
        self._opa = opa
        self._endpoint = endpoint
        self._before = ""  # the time of OPA's last request before this bundle was served
        self._doubtful = False  # OPA had rejected another bundle by then, and may still report that
        self._hopeless = False

    async def serve(self, bundle: Bundle) -> None:
        """Serve a bundle from now on. Raises OpaError, and serves nothing, if OPA does not respond."""
        status = await self._status()
        self._before, self._doubtful = (status.last_request, bool(status.code)) if status else ("", False)
        self.revision = bundle.revision
        self._hopeless = False
        await self._endpoint.serve_next(bundle)

    async def look(self) -> Looked:
        """Return the current state of the bundle."""
        status = await self._status()
        if status is None:
            return Looked(State.WAITING)
        if status.active_revision == self.revision:
            return Looked(State.ACTIVE)
        if (
            self._hopeless
            or not status.code
            or self._endpoint.handed != self.revision
            or status.last_request == self._before
        ):
            return Looked(State.WAITING)
        if self._doubtful:  # then the result of its next request counts
            self._before, self._doubtful = status.last_request, False
            return Looked(State.WAITING)
        return Looked(State.REFUSED, status.message, status.errors)

    def give_up(self) -> None:
        """Stop reporting why OPA rejects this bundle: there is no other to serve."""
        self._hopeless = True

    async def has_nothing(self) -> bool:
        """Return whether OPA has no bundle of the bridge at all."""
        return await self._opa.bundle_revision() is None

    async def in_the_way(self, claimed: Collection[DataPath]) -> list[DataPath]:
        """Return the parts of `data` that OPA's bundle does not own yet, and that are not empty."""
        if not claimed:
            return []
        active = await self._opa.get(pointer("system", "bundles", BUNDLE_NAME, "manifest", "roots")) or []
        owned = [tuple(root.split("/")) for root in active]
        fresh = [path for path in claimed if not any(path[: len(root)] == root for root in owned)]
        limit = asyncio.Semaphore(_AT_ONCE)

        async def is_taken(path: DataPath) -> bool:
            async with limit:
                try:
                    found = await self._opa.get(pointer(*path))
                except OpaRejected:
                    return True  # rules of another author, which fail
            for root in owned:
                if overlap(root, path):
                    found = _without(found, root[len(path) :])
            return found is not None

        taken = await asyncio.gather(*(is_taken(path) for path in fresh))
        return [path for path, there in zip(fresh, taken, strict=True) if there]

    async def _status(self) -> BundleStatus | None:
        try:
            return await self._opa.bundle_status()
        except OpaRejected:
            # Its status plugin is off: then it reports active bundles, and never rejected ones.
            return BundleStatus(BUNDLE_NAME, await self._opa.bundle_revision() or "")


def _without(found: Any, path: DataPath) -> Any:
    """Return a document without the value at a path, None if nothing else is in it."""
    if not path:
        return None
    if not isinstance(found, dict) or path[0] not in found:
        return found
    rest = {name: value for name, value in found.items() if name != path[0]}
    below = _without(found[path[0]], path[1:])
    if below is not None:
        rest[path[0]] = below
    return rest or None
