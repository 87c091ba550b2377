"""Verdicts as they are told: when something is known, and only where it is another than before."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bridge.modules.entries import Entry
from bridge.modules.submissions import Verdict

Listener = Callable[[Verdict], None]


class Verdicts:
    """Tells listeners of entries."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each new verdict."""
        self._listeners.append(listener)

    def tell(self, entries: Iterable[Entry], *, moving: bool, late: bool) -> None:
        """Tell what is known by now; while the set is `moving`, or OPA has not taken it, only where it is `late`."""
        for entry in list(entries):
            waiting = moving or entry.chosen is not entry.confirmed
            unknown = entry.chosen is not entry.submitted and not entry.left_behind
            if unknown or (waiting and not late):
                continue
            in_force = entry.confirmed.version if entry.confirmed else ""
            submitted = entry.submitted
            verdict = Verdict(submitted.author, submitted.version, in_force, entry.problems, entry.revision)
            if verdict != entry.told:
                entry.told = verdict
                for listener in self._listeners:
                    listener(verdict)
