"""Memory of a fill: the garbage collector is kept out of the way of objects that stay; what is free is given back."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

EVERY = 60.0  # seconds between two collections of a long fill, at least: one that waits for nobody is done before
_SHARE = 50  # a collection is followed by so many times its own duration, at least


@contextmanager
def without_collector() -> Iterator[None]:
    """No collections in the block; what is there at its end is left out of later ones.

    The collector looks at everything again and again while everything grows, and finds nothing: parsing 24 MB of JSON
    takes 0.11 s without it, and 0.41 s with it. What became garbage since the last such block is collected first: once
    left out, it would be for ever.
    """
    was = gc.isenabled()
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()


async def collect_seldom() -> None:
    """Collect now and then until cancelled, for a block without the collector of which nobody knows how long it takes.

    A fill that waits for an API server or an OPA that is away makes garbage with each attempt.
    """
    wait = EVERY
    while True:
        await asyncio.sleep(wait)
        began = time.monotonic()
        gc.collect()
        wait = max(EVERY, _SHARE * (time.monotonic() - began))


def give_back() -> None:
    """Give memory that is free back to the system, where the C library can (glibc): after a fill that is some 10%."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
