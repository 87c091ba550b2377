"""Signals to a running bridge: SIGHUP reloads settings, SIGTERM and SIGINT stop it.

A reload applies the settings that can change while a bridge runs, and names the others. A bridge stops step by step,
within its grace period; a second signal ends it immediately:

1. It is no longer ready, and the webhook continues to respond for a while.
2. The webhook accepts no new connections, and completes the requests in progress.
3. Pending changes are written to OPA.
4. Nothing more is written to the cluster, and the Lease is released.
5. Listeners stop, and finally OPA.
"""

import asyncio
import dataclasses
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import structlog

from bridge.settings.loading import SettingsError
from bridge.settings.model import RELOADED, SETTINGS, Settings
from bridge.telemetry.logs import configure_logs

log = structlog.get_logger(__name__)

Take = Callable[[Settings], None]


class Reloading:
    """Reads settings by `read` and passes those in RELOADED to their users. `settings` are the current ones.

    `results` counts reloads, `applied` and `refused`; `current` is False after a rejected one.
    """

    def __init__(self, settings: Settings, read: Callable[[], Settings]) -> None:
        self.settings = settings
        self.results: Counter[str] = Counter()
        self.current = True
        self._read = read
        self._takers: list[Take] = [lambda settings: configure_logs(settings.log_level, settings.log_format)]

    def take(self, apply: Take) -> None:
        """Call `apply` with the current settings after each reload, and now if there was one."""
        self._takers.append(apply)
        if self.results:
            apply(self.settings)

    def reload(self) -> None:
        """Read the settings again. Invalid ones change nothing."""
        try:
            fresh = self._read()
        except SettingsError as error:
            self.results["refused"] += 1
            self.current = False
            log.error("settings reload failed", mistakes=[str(one) for one in error.mistakes])
            return
        self.results["applied"] += 1
        self.current = True
        differing = [name for name in SETTINGS if getattr(fresh, name) != getattr(self.settings, name)]
        changed = [name for name in differing if name in RELOADED]
        self.settings = dataclasses.replace(self.settings, **{name: getattr(fresh, name) for name in changed})
        for apply in self._takers:
            apply(self.settings)
        log.info("settings reloaded", changed=changed)
        if others := [name for name in differing if name not in RELOADED]:
            log.warning("settings require a restart", settings=others)

    @contextmanager
    def on_signal(self) -> Iterator[None]:
        """Reload on SIGHUP within the block."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self.reload)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGHUP)


Step = Callable[[], Awaitable[None]]

SAME = 0.5  # seconds in which a repeated signal is ignored: some senders signal a process and its group
RESERVE = 4.0  # seconds of the grace period for the parts that stop after the steps: listeners, then OPA
SHARE = 1.0  # seconds of these that a step leaves for each later one
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Shutdown:
    """Stops the part that it `guard`s by the steps that were added with `then`, in order. `grace` is in seconds."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._stopping = asyncio.Event()
        self._steps: list[tuple[str, Step]] = []

    def unready(self) -> str:
        """Return why a stopping bridge is not ready; empty before."""
        return "the bridge is stopping" if self._stopping.is_set() else ""

    def then(self, name: str, step: Step) -> None:
        """Add a step; it is cancelled if the grace period ends."""
        self._steps.append((name, step))

    async def guard(self, serving: asyncio.Task[None]) -> None:
        """Wait until `serving` ends by itself (raises its error), or a signal has stopped it."""
        with self._signals():
            signaled = asyncio.create_task(self._stopping.wait())
            try:
                await asyncio.wait({serving, signaled}, return_when=asyncio.FIRST_COMPLETED)
                if not serving.done():
                    await self._end(serving)
                if not (self._stopping.is_set() and serving.cancelled()):
                    await serving
            finally:
                for task in (signaled, serving):
                    task.cancel()
                await asyncio.gather(signaled, serving, return_exceptions=True)

    async def _end(self, serving: asyncio.Task[None]) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        steps = asyncio.create_task(self._run_steps(began + max(0.0, self._grace - RESERVE)))
        await asyncio.wait({serving, steps}, return_when=asyncio.FIRST_COMPLETED)
        steps.cancel()
        serving.cancel()
        await asyncio.wait({serving}, timeout=max(0.1, began + self._grace - clock()))
        if not serving.done():
            log.error("shutdown_grace exceeded, exiting immediately", seconds=self._grace)
            os._exit(1)
        log.info("stopped", seconds=round(clock() - began, 1))

    async def _run_steps(self, until: float) -> None:
        for number, (name, step) in enumerate(self._steps, 1):
            try:
                async with asyncio.timeout_at(until - SHARE * (len(self._steps) - number)):
                    await step()
            except TimeoutError:
                log.warning("shutdown step timed out", step=name, grace=self._grace)
            except Exception as error:  # noqa: BLE001 - whatever it is, the rest must end too
                log.warning("shutdown step failed", step=name, why=str(error))

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        timers: list[asyncio.TimerHandle] = []

        def default() -> None:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)  # the default handler ends even a hanging process

        def ask() -> None:
            if not self._stopping.is_set():
                log.info("shutdown started, a second signal exits immediately", grace=self._grace)
                self._stopping.set()
                timers.append(loop.call_later(SAME, default))

        for number in _SIGNALS:
            loop.add_signal_handler(number, ask)
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
