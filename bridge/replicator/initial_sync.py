"""The initial sync: everything that the source lists first, in few operations with large values."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from bridge.replicator.intake import Intake
from bridge.replicator.links import AT_ONCE
from bridge.replicator.policy_kinds import Describing
from bridge.replicator.writer import Writer

log = structlog.get_logger(__name__)

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


PIECE = 3_000  # objects of a fill that are written at once, while more are read; memory holds no more of them for long
PIECE_BYTES = 16 << 20
SILENCE = 30.0  # seconds that a fill waits for types that do not answer while others do
PROBE = 2.0  # seconds between two looks at OPA


class Filling:
    """Fills the OPA of `writer` from `intake`. Methods wait and raise as those of `Writer`."""

    def __init__(self, writer: Writer, intake: Intake, describing: Describing) -> None:
        self._writer = writer
        self._intake = intake
        self._describing = describing

    async def fill(self) -> None:
        """Write everything that the source tells first, what `Writer.begin` has begun, and mark it as whole.

        Meanwhile OPA makes links of what waits, so that it is idle neither while more is read nor while it is written.
        """
        beside = [asyncio.create_task(self._link_ahead()) for _ in range(AT_ONCE)]
        beside.append(asyncio.create_task(collect_seldom()))
        try:
            await self._in_pieces()
        finally:
            for task in beside:
                task.cancel()
            ended = await asyncio.gather(*beside, return_exceptions=True)
            error = next((error for error in ended if isinstance(error, Exception)), None)
            if error is not None:
                # Whoever wrote has asked for these links: only time was lost.
                log.error("asking for links ahead has failed unexpectedly", exc_info=error)

    async def _link_ahead(self) -> None:
        while True:
            self._intake.more.clear()
            if not await self._writer.link_ahead(self._intake.pending.objects()):
                await self._intake.more.wait()

    async def _in_pieces(self) -> None:
        await self._gathered()
        await self._write_all()
        await self._describing.describe()
        for type_id in self._writer.documents.types() - self._intake.wanted - self._intake.listings.begun:
            self._intake.pending.forget(type_id)  # found in OPA, from a bridge before this one
        await self._gathered()  # the types of policy kinds that were not known before
        await self._write_all()
        await self._writer.renew_facts()  # policies may have come before the kinds that their facts depend on
        await self._writer.finish()

    async def _gathered(self) -> None:
        """Wait until every type has been told whole, or it is known that it delivers nothing.

        A type that does not answer while others do is waited for no longer than SILENCE. Meanwhile OPA takes what is a
        piece.
        """
        said: set[str] = set()
        clock = asyncio.get_running_loop().time
        look = clock() + PROBE
        answered = clock()  # when it was not only for silent types that we waited
        while missing := self._intake.listings.missing:
            self._intake.wake.clear()
            if not self._intake.listings.held_up_by_silence:
                answered = clock()
            elif clock() - answered > SILENCE:
                log.warning("goes on without types that do not answer", types=sorted(missing))
                self._intake.listings.expect_nothing()
                continue
            if clock() > look:
                await self._writer.probe()
                look = clock() + PROBE
            if len(self._intake.pending) >= PIECE or self._intake.pending.size >= PIECE_BYTES:
                await self._writer.write(self._intake.take_out(PIECE, PIECE_BYTES))
                continue
            try:
                async with asyncio.timeout(PROBE):
                    await self._intake.wake.wait()
            except TimeoutError:
                if missing != said:
                    log.info("waiting for first listings", types=sorted(missing))
                    said = missing

    async def _write_all(self) -> None:
        while len(self._intake.pending):
            await self._writer.write(self._intake.take_out(PIECE, PIECE_BYTES))
