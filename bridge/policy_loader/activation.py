"""What OPA makes of a bundle that is served: in force, refused, or not looked at yet; and what would be in its way."""

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

_AT_ONCE = 16  # questions to OPA


class State(Enum):
    """What OPA made of a bundle."""

    WAITING = auto()
    ACTIVE = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class Looked:
    """The state of the served bundle; of a refused one what OPA says (`errors` have message and location)."""

    state: State
    message: str = ""
    errors: Sequence[Mapping[str, Any]] = ()


class Activation:
    """Serves bundles to one OPA, and looks at what becomes of them. Methods raise OpaError where it gives no answer."""

    def __init__(self, opa: Opa, endpoint: BundleEndpoint) -> None:
        self.revision = ""
        self._opa = opa
        self._endpoint = endpoint
        self._before = ""  # when OPA last asked, as it said before this bundle was served
        self._doubtful = False  # OPA had refused another bundle by then, and might tell of that still
        self._hopeless = False

    async def serve(self, bundle: Bundle) -> None:
        """Serve a bundle from now on. Raises OpaError, and serves nothing, where OPA gives no answer."""
        status = await self._status()
        self._before, self._doubtful = (status.last_request, bool(status.code)) if status else ("", False)
        self.revision = bundle.revision
        self._hopeless = False
        await self._endpoint.serve_next(bundle)

    async def look(self) -> Looked:
        """What OPA has made of the bundle by now."""
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
        if self._doubtful:  # then what it says at its next request counts
            self._before, self._doubtful = status.last_request, False
            return Looked(State.WAITING)
        return Looked(State.REFUSED, status.message, status.errors)

    def give_up(self) -> None:
        """Hear no more of why OPA refuses this bundle: there is no other to serve."""
        self._hopeless = True

    async def has_nothing(self) -> bool:
        """Whether OPA has no bundle of the bridge at all."""
        return await self._opa.bundle_revision() is None

    async def in_the_way(self, claimed: Collection[DataPath]) -> list[DataPath]:
        """Those parts of `data` that OPA's bundle does not own yet, and where there is something."""
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
                    return True  # rules of somebody else, which fail
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
            # Its status plugin is off: then it tells what it has, and never what it refused.
            return BundleStatus(BUNDLE_NAME, await self._opa.bundle_revision() or "")


def _without(found: Any, path: DataPath) -> Any:
    """A document without what is at a path, None where nothing else is in it."""
    if not path:
        return None
    if not isinstance(found, dict) or path[0] not in found:
        return found
    rest = {name: value for name, value in found.items() if name != path[0]}
    below = _without(found[path[0]], path[1:])
    if below is not None:
        rest[path[0]] = below
    return rest or None
