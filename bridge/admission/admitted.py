"""Changes that the webhook admitted a moment ago, and that OPA may not have yet.

Two requests may each be fine and together violate a guardrail, such as the deletions of a route's two policies. So each
request is also judged as if the changes before it were stored. Such a change may still fail, so this only denies more.
Rego that was admitted is in no request's change: the decisions after it have a warning.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.model.changes import Notice
from bridge.model.keys import Key

LONGEST = 10.0  # seconds until a change counts as failed, if OPA does not get it
MOST = 32  # changes, the last ones: each request is judged with all of them

Parts = Mapping[str, Sequence[Any]]  # a query's `changes`: objects to `upsert`, keys to `delete`


@dataclass(slots=True)
class _Change:
    parts: Parts
    until: float  # on the loop's clock
    writes: int  # of the object that OPA does not have yet
    stored: float = math.inf  # when OPA had it


class Admitted:
    """Knows the admitted changes by their objects. `turn` is for one request at a time: to judge it, and to add it."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self._changes: dict[Key, _Change] = {}
        self._modules: dict[Key, float] = {}  # until when OPA may lack the Rego of an object

    def add_modules(self, key: Key) -> None:
        """Add an object whose Rego was admitted."""
        self._modules[key] = asyncio.get_running_loop().time() + LONGEST

    def modules(self) -> list[str]:
        """Return the objects whose Rego OPA may lack."""
        now = asyncio.get_running_loop().time()
        self._modules = {key: until for key, until in self._modules.items() if until > now}
        return sorted(map(str, self._modules))

    def take_in(self, notice: Notice) -> None:
        """Take in a write to OPA: it has these changes now."""
        if not self._changes:
            return
        now = asyncio.get_running_loop().time()
        for change in filter(None, map(self._changes.get, notice.keys)):
            change.writes -= 1
            if change.writes == 0:
                change.stored = now

    def add(self, key: Key, parts: Parts) -> None:
        """Add an admitted change of an object, which replaces an earlier one of it."""
        former = self._changes.pop(key, None)
        waiting = former.writes if former else 0
        until = asyncio.get_running_loop().time() + LONGEST
        self._changes[key] = _Change(parts, until, max(waiting, 0) + 1)
        if len(self._changes) > MOST:
            self._changes.pop(min(self._changes, key=self._rank))

    def _rank(self, key: Key) -> tuple[bool, float]:
        """Return the rank of a change: those that OPA has are dropped first, then the earliest."""
        change = self._changes[key]
        return change.stored == math.inf, change.until

    def missing(self, since: float, but: Key) -> Parts:
        """Return the changes that OPA did not have at a time on the loop's clock, as one; empty without any.

        Without that of the object `but`.
        """
        now = asyncio.get_running_loop().time()
        self._changes = {key: change for key, change in self._changes.items() if change.until > now}
        found = [change.parts for key, change in self._changes.items() if key != but and change.stored >= since]
        names = sorted({name for parts in found for name in parts})
        return {name: [one for parts in found for one in parts.get(name, ())] for name in names}
