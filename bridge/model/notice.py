"""What the replicator tells those who act on changes, once OPA has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge.model.keys import Key


@dataclass(frozen=True, slots=True)
class Notice:
    """OPA holds these changes now.

    `keys` are the objects that declare something else than before; of those in `reported` only the status differs.
    `was` holds, by key, the index paths that an object had before. With `refilled` OPA was filled anew, so everything
    that was derived from it is to be derived again, and `keys` is empty. `refilling` comes before that, when OPA holds
    something else than was told: until it is refilled, nothing may be concluded from what it answers. With `kinds`
    the stored policy kinds may differ from before. One that is `alone` is computed without others. `traces` are the
    spans that wrote the changes (`bridge.tracing`).
    """

    keys: tuple[Key, ...] = ()
    reported: tuple[Key, ...] = ()
    was: Mapping[Key, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    refilled: bool = False
    refilling: bool = False
    kinds: bool = False
    alone: bool = False
    traces: tuple[Any, ...] = ()


Listener = Callable[[Notice], None]
