"""The states of the replicator, and every transition between them (docs/reference/states.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from enum import Enum


class SyncState(Enum):
    """What OPA has of the source's objects."""

    CONNECTING = "The bridge waits for an OPA that responds and has loaded the bridge's modules"
    SYNCING = "The bridge writes the objects of the source's first listings"
    OUTDATED = "As SYNCING, while OPA loads other modules than the sync began with"
    SYNCED = "OPA has every object; the bridge writes changes as they arrive"
    UNRESPONSIVE = "OPA has every object, and delays a write or a query"
    RELOADING = "OPA has every object, and loads other modules"
    RENEWING = "OPA has loaded other modules, and the bridge recomputes the facts that depend on them"


class SyncEvent(Enum):
    """What changes a SyncState."""

    MODULES_LOADED = "OPA has loaded the served modules"
    MODULES_CHANGE = "The policy loader is about to serve other modules for links or merges"
    WRITTEN = "OPA has every object of the first listings"
    DELAYED = "OPA does not respond to a write or a query"
    ANSWERED = "OPA responds again"
    RENEWED = "The facts are recomputed"
    LOST = "OPA lacks what was written, its links must be recomputed, or it rejects a write"


_S, _E = SyncState, SyncEvent

SYNC: Mapping[SyncState, Mapping[SyncEvent, SyncState]] = {
    _S.CONNECTING: {
        _E.MODULES_LOADED: _S.SYNCING,
        _E.MODULES_CHANGE: _S.CONNECTING,
    },
    _S.SYNCING: {
        _E.WRITTEN: _S.SYNCED,
        _E.MODULES_CHANGE: _S.OUTDATED,
        _E.DELAYED: _S.SYNCING,
        _E.ANSWERED: _S.SYNCING,
        _E.LOST: _S.CONNECTING,
    },
    _S.OUTDATED: {
        _E.WRITTEN: _S.RELOADING,
        _E.MODULES_CHANGE: _S.OUTDATED,
        _E.DELAYED: _S.OUTDATED,
        _E.ANSWERED: _S.OUTDATED,
        _E.LOST: _S.CONNECTING,
    },
    _S.SYNCED: {
        _E.DELAYED: _S.UNRESPONSIVE,
        _E.ANSWERED: _S.SYNCED,  # of a delay before other modules were loaded
        _E.MODULES_CHANGE: _S.RELOADING,
        _E.LOST: _S.CONNECTING,
    },
    _S.UNRESPONSIVE: {
        _E.ANSWERED: _S.SYNCED,
        _E.DELAYED: _S.UNRESPONSIVE,
        _E.MODULES_CHANGE: _S.RELOADING,
        _E.LOST: _S.CONNECTING,
    },
    _S.RELOADING: {
        _E.MODULES_LOADED: _S.RENEWING,
        _E.MODULES_CHANGE: _S.RELOADING,
        _E.DELAYED: _S.RELOADING,
        _E.ANSWERED: _S.RELOADING,
        _E.LOST: _S.CONNECTING,
    },
    _S.RENEWING: {
        _E.RENEWED: _S.SYNCED,
        _E.MODULES_CHANGE: _S.RELOADING,
        _E.DELAYED: _S.RENEWING,
        _E.ANSWERED: _S.RENEWING,
        _E.LOST: _S.CONNECTING,
    },
}


class IllegalTransition(RuntimeError):
    """An event in a state that has no transition for it: a defect of the program."""


class SyncMachine:
    """The current state, which only the transitions of the table change. `synced` is set exactly in SYNCED."""

    def __init__(self, state: SyncState = SyncState.CONNECTING) -> None:
        self.synced = asyncio.Event()
        self.state = state

    def on(self, event: SyncEvent) -> SyncState:
        """Make the transition of an event; return the new state. Raises IllegalTransition if there is none."""
        following = SYNC[self.state].get(event)
        if following is None:
            raise IllegalTransition(f"{self.state} has no transition for {event}")
        self.state = following
        if following is SyncState.SYNCED:
            self.synced.set()
        else:
            self.synced.clear()
        return following
