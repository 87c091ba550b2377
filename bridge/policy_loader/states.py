"""The states of the policy loader, and every transition between them (docs/reference/states.md)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class LoaderState(Enum):
    """The way of the newest set of modules to OPA. STALE: submissions have changed since the set was selected."""

    LISTING = "The initial list of authors is incomplete; an OPA with modules keeps them"
    STALE = "A set must be selected"
    SELECTING = "The loader checks which new submissions compile beside the active ones, and serves the bundle"
    SELECTING_STALE = "As SELECTING, and submissions have changed meanwhile"
    LOADING = "The bundle is served, and OPA has not confirmed it"
    LOADED = "OPA has the newest set"


class LoaderEvent(Enum):
    """What changes a LoaderState."""

    LISTED = "The initial list of authors is complete"
    CHANGE = "A submission has arrived, changed, gone or passed a check alone, or an evaluation failed in one"
    SELECT = "A selection begins"
    SERVED = "The endpoint serves the bundle of the selected set"
    LOADED = "OPA confirms the bundle"
    REJECTED = "OPA rejects the bundle, because of a version that is now excluded"
    FAILED = "OPA does not respond, or `opa check` cannot run"


_S, _E = LoaderState, LoaderEvent

LOADER: Mapping[LoaderState, Mapping[LoaderEvent, LoaderState]] = {
    _S.LISTING: {
        _E.CHANGE: _S.LISTING,
        _E.LISTED: _S.STALE,
    },
    _S.STALE: {
        _E.CHANGE: _S.STALE,
        _E.SELECT: _S.SELECTING,
        # of the served bundle, whose check began before the change
        _E.LOADED: _S.STALE,
        _E.REJECTED: _S.STALE,
        _E.FAILED: _S.STALE,
    },
    _S.SELECTING: {
        _E.CHANGE: _S.SELECTING_STALE,
        _E.SERVED: _S.LOADING,
        _E.FAILED: _S.STALE,
    },
    _S.SELECTING_STALE: {
        _E.CHANGE: _S.SELECTING_STALE,
        # The selected set is served first: an author with constant changes must not delay others.
        _E.SERVED: _S.STALE,
        _E.FAILED: _S.STALE,
    },
    _S.LOADING: {
        _E.CHANGE: _S.STALE,
        _E.LOADED: _S.LOADED,
        _E.REJECTED: _S.STALE,
        _E.FAILED: _S.LOADING,
    },
    _S.LOADED: {
        _E.CHANGE: _S.STALE,
    },
}
