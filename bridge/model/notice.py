"""The replicator's notices about changes, after their write to OPA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bridge.model.keys import Key


@dataclass(frozen=True, slots=True)
class Notice:
    """OPA has these changes now.

    `keys` are the objects with changed declarations; those in `reported` differ only in status. `was` has, by key, the
    previous index paths of an object. `refilled` means that OPA was synced again: everything derived from it must be
    computed again, and `keys` is empty. `refilling` comes before that, when OPA has other data than the bridge wrote:
    until the sync ends, its results do not count. `kinds` means that the stored policy kinds may differ. An `alone`
    notice is computed separately. `traces` are the spans that wrote the changes (`bridge.tracing`).
    """

    keys: tuple[Key, ...] = ()
    reported: tuple[Key, ...] = ()
    was: Mapping[Key, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    refilled: bool = False
    refilling: bool = False
    kinds: bool = False
    alone: bool = False
    traces: tuple[Any, ...] = ()


def merge_notices(notices: Sequence[Notice]) -> Notice:
    """Return several notices as one, with the paths of all of them: a key may be stored under any."""
    if any(notice.refilled for notice in notices):
        return Notice(refilled=True)
    was: dict[Key, tuple[tuple[str, ...], ...]] = {}
    for notice in notices:
        for key, paths in notice.was.items():
            was[key] = tuple(dict.fromkeys((*was.get(key, ()), *paths)))
    keys = dict.fromkeys(key for notice in notices for key in notice.keys)
    reported = dict.fromkeys(key for notice in notices for key in notice.reported if key not in keys)
    traces = tuple(trace for notice in notices for trace in notice.traces)
    return Notice(tuple(keys), tuple(reported), was, kinds=any(notice.kinds for notice in notices), traces=traces)


Listener = Callable[[Notice], None]
