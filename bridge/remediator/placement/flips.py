"""Objects that are patched repeatedly, because a policy or another writer contradicts itself. Pure.

An object that was patched `most` times within `WINDOW` seconds is not patched again for `PAUSE` seconds, or until the
policy changes (`resume_all`) or the object declares something else. That does not include the patched annotations,
which are the disputed ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

WINDOW = 60.0  # seconds
PAUSE = 600.0  # seconds
MOST = 5  # patches of one object within a window


@dataclass(slots=True)
class _Patched:
    at: deque[float] = field(default_factory=deque)
    names: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Stopped:
    since: float
    names: frozenset[str]
    declared: Any  # None: not read yet


class Flips:
    """Times are of one monotonic clock, in seconds. `declared` is the result of `Deciding.declared` for an object."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._patched: dict[str, _Patched] = {}
        self._stopped: dict[str, _Stopped] = {}

    def patched(self, key: str, names: Collection[str], now: float) -> None:
        """Note that these annotations of an object were patched."""
        known = self._patched.pop(key, None) or _Patched()
        known.at.append(now)
        known.names.update(names)
        self._patched[key] = known  # the last patched one is last
        while (first := next(iter(self._patched))) and self._patched[first].at[-1] <= now - WINDOW:
            del self._patched[first]

    def flips(self, key: str, now: float) -> bool:
        """Return whether one more patch of this object would be too many."""
        known = self._patched.get(key)
        if known is None:
            return False
        while known.at and known.at[0] <= now - WINDOW:
            known.at.popleft()
        if not known.at:
            del self._patched[key]
            return False
        return len(known.at) >= self.most

    def stop(self, key: str, declared: Mapping[str, Any] | None, now: float) -> tuple[str, ...]:
        """Stop patching this object; return the changing annotations."""
        names = frozenset(self._patched.pop(key, _Patched()).names)
        self._stopped[key] = _Stopped(now, names, _without(declared, names))
        return tuple(sorted(names))

    def stopped(self, keys: Collection[str]) -> set[str]:
        """Return the stopped objects."""
        return self._stopped.keys() & set(keys)

    def resume(self, key: str, declared: Mapping[str, Any] | None, now: float) -> bool:
        """Return whether a stopped object must be placed again, because it declares something else or time is up."""
        known = self._stopped.get(key)
        if known is None:  # another task has removed it meanwhile
            return True
        if now < known.since + PAUSE and _without(declared, known.names) == known.declared:
            return False
        del self._stopped[key]
        return True

    def resume_all(self) -> list[str]:
        """Place stopped objects again, because the policy has changed. The patches of all others still count."""
        was = sorted(self._stopped)
        self._stopped.clear()
        return was

    def forget(self, key: str) -> None:
        """Drop a deleted object."""
        self._patched.pop(key, None)
        self._stopped.pop(key, None)


def _without(declared: Mapping[str, Any] | None, names: Collection[str]) -> Any:
    if declared is None:
        return None
    kept = {name: value for name, value in (declared["annotations"] or {}).items() if name not in names}
    return {**declared, "annotations": kept}
