"""Child processes, and limits for the processor time that they use."""

import asyncio
import contextlib
import os
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextvars import ContextVar
from pathlib import Path

_LOOK = 0.1  # seconds between two looks at the processor time of a child
BUSY = 10.0  # how many times longer than its processor time work may take, while a loaded machine lets it wait


class Work:
    """The processor time of children within a block. `limit` is in seconds, and `clock` ends the block."""

    def __init__(self, limit: float, clock: asyncio.Timeout) -> None:
        self._limit = limit
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._used = 0.0
        self._waited: float | None = None  # once the block has ended

    @property
    def seconds(self) -> float:
        """Return the processor time in seconds, at least the part of the time that passed which BUSY allows for."""
        waited = self._loop.time() - self._began if self._waited is None else self._waited
        return max(self._used, waited / BUSY)

    @property
    def is_spent(self) -> bool:
        """Return whether children have used the processor time of the limit."""
        return self._used >= self._limit

    def end(self) -> None:
        """Count no more time."""
        self._waited = self._loop.time() - self._began

    def add(self, seconds: float) -> None:
        """Add processor time of a child."""
        self._used += seconds
        if self.is_spent and not self._clock.expired():
            self._clock.reschedule(self._loop.time())


_works: ContextVar[tuple[Work, ...]] = ContextVar("works", default=())


@contextlib.asynccontextmanager
async def limit_work(seconds: float) -> AsyncIterator[Work]:
    """Raise TimeoutError once children in this block have used this processor time, or BUSY times as long has passed.

    Children count in `follow`.
    """
    async with asyncio.timeout(seconds * BUSY) as clock:
        work = Work(seconds, clock)
        token = _works.set((*_works.get(), work))
        try:
            yield work
        finally:
            work.end()
            _works.reset(token)


@contextlib.asynccontextmanager
async def follow(process: Process) -> AsyncIterator[None]:
    """Count the processor time of a child for the limits around this block, while it runs."""
    watch = asyncio.create_task(_watch(process.pid))
    try:
        yield
    finally:
        watch.cancel()


async def _watch(pid: int) -> None:
    before = 0.0
    while True:
        await asyncio.sleep(_LOOK)
        used = _processor_time(pid)
        for work in _works.get():
            work.add(_LOOK if used is None else used - before)
        before = before if used is None else used


def _processor_time(pid: int) -> float | None:
    """Return the processor time of a running process in seconds; None outside of Linux, where only clocks are known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def end(process: Process) -> None:
    """Kill a child that has not ended, and wait until it has."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
