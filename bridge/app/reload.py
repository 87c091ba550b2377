"""Reloads settings on SIGHUP: applies those that can change while a bridge runs, and names the others."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from collections import Counter
from collections.abc import Callable, Iterator
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
        self._takers: list[Take] = [_configure_logs]

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
        differing = [name for name in SETTINGS if _differs(name, fresh, self.settings)]
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


def _differs(name: str, one: Settings, other: Settings) -> bool:
    return bool(getattr(one, name) != getattr(other, name))


def _configure_logs(settings: Settings) -> None:
    configure_logs(settings.log_level, settings.log_format)
