"""The initial sync: all objects of the source's first listings in few operations, then the active policy kinds."""

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
from bridge.replicator.writer import Writer

log = structlog.get_logger(__name__)


class Describing:
    """Updates the documents of policy kinds, and requests their policies. `types` are always requested."""

    def __init__(self, writer: Writer, intake: Intake, types: frozenset[str]) -> None:
        self._writer = writer
        self._intake = intake
        self._types = types
        self._logged: dict[str, str] = {}  # by undescribed type of policies, the last logged message

    async def describe(self) -> None:
        """Store the active policy kinds, and request their objects.

        A cluster without a CRD or PolicyKind for a shipped preset's kind does not serve it. Waits and raises like the
        methods of `Writer`.
        """
        documents = await self._writer.ask("kind_documents")
        await self._writer.put_kinds(documents)
        kinds = documents["kinds"]
        undescribed: dict[str, dict[str, str]] = await self._writer.ask("undescribed")
        served = {kind for kind, about in kinds.items() if about["layers"] != ["Preset"]}
        # Policies without a description have no effect, and commands show where they are attached.
        self._intake.want(self._types | served | {kind for kind, about in undescribed.items() if "crd" in about})
        self._log_undescribed(undescribed)

    def _log_undescribed(self, found: dict[str, dict[str, str]]) -> None:
        for kind, about in found.items():
            if self._logged.get(kind) != about["message"]:
                log.warning("policy kind not discovered", kind=kind, why=about["message"], crd=about.get("crd", ""))
        self._logged = {kind: about["message"] for kind, about in found.items()}


EVERY = 60.0  # seconds between two collections of a long sync: a usual one ends before
_SHARE = 50  # a collection is followed by at least this multiple of its own duration


@contextmanager
def without_collector() -> Iterator[None]:
    """Disable collections in the block; objects at its end are excluded from later ones.

    The collector examines everything repeatedly while everything grows, and finds nothing: parsing 24 MB of JSON takes
    0.11 s without it, and 0.41 s with it. Garbage since the last such block is collected first, because excluded
    garbage would stay forever. In a block within another block nothing is collected.
    """
    was = gc.isenabled()
    if was and gc.get_freeze_count():
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
    """Collect occasionally until cancelled, for a block without the collector of unknown duration.

    A sync that waits for an unavailable API server or OPA makes garbage with each attempt.
    """
    wait = EVERY
    while True:
        await asyncio.sleep(wait)
        began = time.monotonic()
        gc.collect()
        wait = max(EVERY, _SHARE * (time.monotonic() - began))


def give_back() -> None:
    """Return free memory to the system, if the C library can (glibc): about 10% after a sync."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


PIECE = 3_000  # objects that a sync writes at once, while more are read; memory has few more of them
PIECE_BYTES = 16 << 20
SILENCE = 30.0  # seconds that a sync waits for types that do not respond while others do
PROBE = 2.0  # seconds between two checks of OPA


class Filling:
    """Syncs the OPA of `writer` from `intake`. Methods wait and raise like those of `Writer`."""

    def __init__(self, writer: Writer, intake: Intake, describing: Describing) -> None:
        self._writer = writer
        self._intake = intake
        self._describing = describing

    async def fill(self) -> None:
        """Write the source's first listings, after `Writer.begin`, and mark them as complete.

        Meanwhile OPA computes links of waiting objects, so it is idle neither during reads nor during writes.
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
                # The write has queried these links: only time was lost.
                log.error("link prefetch failed unexpectedly", exc_info=error)

    async def _link_ahead(self) -> None:
        while True:
            self._intake.more.clear()
            if not await self._writer.link_ahead(self._intake.pending.objects()):
                await self._intake.more.wait()

    async def _in_pieces(self) -> None:
        # A policy kind may arrive while the objects of others are awaited.
        while self._writer.kinds_outdated or self._intake.listings.missing or len(self._intake.pending):
            await self._gathered()
            await self._write_all()
            if self._writer.kinds_outdated:
                await self._describing.describe()
                for type_id in self._writer.documents.types() - self._intake.wanted - self._intake.listings.begun:
                    self._intake.pending.forget(type_id)  # found in OPA, from an earlier bridge
        await self._writer.renew_facts()  # policies may have arrived before the kinds that their facts depend on
        await self._writer.finish()

    async def _gathered(self) -> None:
        """Wait until every type is complete, or known to deliver nothing.

        A type that does not respond while others do delays the sync by at most SILENCE. Meanwhile complete batches are
        written to OPA.
        """
        said: set[str] = set()
        clock = asyncio.get_running_loop().time
        look = clock() + PROBE
        answered = clock()  # when the wait was not only for silent types
        while missing := self._intake.listings.missing:
            self._intake.wake.clear()
            if not self._intake.listings.held_up_by_silence:
                answered = clock()
            elif clock() - answered > SILENCE:
                log.warning("initial sync continued without unavailable types", types=sorted(missing))
                self._intake.listings.expect_nothing()
                continue
            if clock() > look:
                await self._writer.probe()
                look = clock() + PROBE
            if len(self._intake.pending) >= PIECE or self._intake.pending.size >= PIECE_BYTES:
                await self._write_piece()
                continue
            try:
                async with asyncio.timeout(PROBE):
                    await self._intake.wake.wait()
            except TimeoutError:
                if missing != said:
                    log.info("waiting for initial lists", types=sorted(missing))
                    said = missing

    async def _write_all(self) -> None:
        while len(self._intake.pending):
            await self._write_piece()

    async def _write_piece(self) -> None:
        await self._writer.write(self._intake.take_out(PIECE, PIECE_BYTES))
        self._intake.pending.written()
