"""Waiting for what another process or task does."""

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, overload

PATIENCE = 300.0  # seconds: a test that waits as long fails, on a loaded machine too
PAUSE = 0.05  # seconds between two looks
_NOT_YET = (LookupError, OSError)  # of an answer without the awaited part, or of a server that does not respond yet

_Seen = TypeVar("_Seen")


@overload
async def eventually(
    look: Callable[[], Coroutine[Any, Any, _Seen]],
    fits: Callable[[_Seen], object] = ...,
    *,
    patience: float = ...,
    pause: float = ...,
    about: Callable[[], str] = ...,
) -> _Seen: ...


@overload
async def eventually(
    look: Callable[[], _Seen],
    fits: Callable[[_Seen], object] = ...,
    *,
    patience: float = ...,
    pause: float = ...,
    about: Callable[[], str] = ...,
) -> _Seen: ...


async def eventually(
    look: Callable[[], Any],
    fits: Callable[[Any], object] = bool,
    *,
    patience: float = PATIENCE,
    pause: float = PAUSE,
    about: Callable[[], str] = str,
) -> Any:
    """Repeat `look`, a function or a coroutine function, until its result fits, and return that.

    A missing key and an unavailable server count as not yet. Raises AssertionError after `patience` seconds, with the
    last result and with what `about` returns.
    """
    wait = _Wait(patience, about)
    while True:
        try:
            seen = look()
            if inspect.isawaitable(seen):
                seen = await seen
            if fits(seen):
                return seen
            wait.saw(seen)
        except _NOT_YET as error:
            wait.saw(error)
        await asyncio.sleep(pause)


def eventually_blocking(
    look: Callable[[], _Seen],
    fits: Callable[[_Seen], object] = bool,
    *,
    patience: float = PATIENCE,
    pause: float = PAUSE,
    about: Callable[[], str] = str,
) -> _Seen:
    """Do the same without an event loop."""
    wait = _Wait(patience, about)
    while True:
        try:
            seen = look()
            if fits(seen):
                return seen
            wait.saw(seen)
        except _NOT_YET as error:
            wait.saw(error)
        time.sleep(pause)


def equal_to(wanted: object) -> Callable[[object], bool]:
    """Return the condition that a result equals `wanted`."""
    return lambda seen: seen == wanted


class _Wait:
    def __init__(self, patience: float, about: Callable[[], str]) -> None:
        self._patience = patience
        self._about = about
        self._deadline = time.monotonic() + patience

    def saw(self, last: object) -> None:
        if time.monotonic() > self._deadline:
            raise AssertionError(f"not within {self._patience:g} s; at last: {last!r}\n{self._about()}".rstrip())
