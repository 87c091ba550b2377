"""Changes that the webhook admitted a moment ago, and that OPA may not have yet.

Two requests may each be fine and together violate a guardrail, such as the deletions of a route's two policies. So each
request is also judged as if the changes before it were stored. Such a change may still fail, so this only denies more.
A change of Rego is judged as if the Rego before it were active. Other decisions after admitted Rego have a warning.
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
        self._modules: dict[Key, _Change] = {}

    def add_modules(self, key: Key, parts: Parts) -> None:
        """Add an object whose Rego was admitted, with this change."""
        self._modules.pop(key, None)
        self._modules[key] = _Change(parts, asyncio.get_running_loop().time() + LONGEST, 1)
        if len(self._modules) > MOST:
            del self._modules[next(iter(self._modules))]

    def modules(self) -> list[str]:
        """Return the objects whose Rego OPA may lack."""
        self._modules = _present(self._modules)
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

    def missing(self, since: float, but: Key, *, with_modules: bool = False) -> Parts:
        """Return the changes that OPA did not have at a time on the loop's clock, as one; empty without any.

        Without that of the object `but`. Those of Rego are among them only `with_modules`.
        """
        self._changes, self._modules = _present(self._changes), _present(self._modules)
        changes = {**self._changes, **(self._modules if with_modules else {})}
        found = [change.parts for key, change in changes.items() if key != but and change.stored >= since]
        names = sorted({name for parts in found for name in parts})
        return {name: [one for parts in found for one in parts.get(name, ())] for name in names}


def _present(changes: Mapping[Key, _Change]) -> dict[Key, _Change]:
    """Return the changes that have not failed."""
    now = asyncio.get_running_loop().time()
    return {key: change for key, change in changes.items() if change.until > now}
