"""Waiting for changes of files and folders."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Self

import watchfiles

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

# A watch is lost without a word when its folder is moved away or comes anew: a look now and then finds that.
_LOOK_SECONDS = 5.0
_POLL_SECONDS = 1.0  # between looks where the system gives no more watches
_QUIET_MILLISECONDS = 20  # so long nothing may happen before a group of changes is told
_GROUP_MILLISECONDS = 200  # but it is told after this at the latest


class PathWatch:
    """An open watch on paths, as an async context manager. It says that something changed, not what."""

    def __init__(self, paths: Sequence[Path]) -> None:
        # A file is watched through its folder: an editor that saves puts a new file in the old one's place.
        folders = {path if path.is_dir() else path.parent for path in paths}
        self._events: AsyncGenerator[set[watchfiles.main.FileChange], None] = watchfiles.awatch(
            *folders,
            watch_filter=None,  # a mounted ConfigMap changes through a hidden link
            recursive=any(path.is_dir() for path in paths),
            debounce=_GROUP_MILLISECONDS,
            step=_QUIET_MILLISECONDS,
            rust_timeout=int(_LOOK_SECONDS * 1000),
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        self._next: asyncio.Task[None] | None = None
        self._blind = False

    async def __aenter__(self) -> Self:
        self._next = asyncio.create_task(self._turn())
        await asyncio.sleep(0)  # one step of the task opens the watch
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self._events.aclose()

    async def wait(self, woken: asyncio.Event) -> None:
        """Return when something may have changed, or `woken` is set."""
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._turn())
        waker = asyncio.create_task(woken.wait())
        try:
            await asyncio.wait({self._next, waker}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waker

    async def _turn(self) -> None:
        if self._blind:
            await asyncio.sleep(_POLL_SECONDS)
            return
        try:
            await anext(self._events)
        except (OSError, RuntimeError, StopAsyncIteration):
            self._blind = True  # the system has no watch for us (inotify's limits, most often): look by the clock


def watch_paths(paths: Sequence[Path]) -> PathWatch:
    """A watch on files and folders (with all below them), to be entered before the files are read."""
    return PathWatch(paths)
