"""An event loop whose clock stands still while there is work, and jumps to the next timer when there is none."""

import asyncio
import selectors
from collections.abc import Callable


class _NoWait(selectors.SelectSelector):
    def __init__(self, jump: Callable[[float | None], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Whatever is ready now; else the clock moves on by the timeout."""
        ready = super().select(0)
        if not ready:
            self._jump(timeout)
        return ready


class FakeTimeLoop(asyncio.SelectorEventLoop):
    """Sleeping costs no time. What waits for nothing that can come is a RuntimeError."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_NoWait(self._jump))

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now

    def _jump(self, timeout: float | None) -> None:
        if timeout is None:
            raise RuntimeError("nothing is left that could happen")
        self._now += timeout
