"""The bridge's own OPA, kept running: started again on the same port when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog

from bridge.opa.errors import OpaStartError
from bridge.opa.managed import ManagedOpa

log = structlog.get_logger(__name__)

FIRST_DELAY = 0.1  # seconds before the first new start; doubles up to the longest
LONGEST_DELAY = 10.0
HEALTHY = 30.0  # seconds of life after which an end counts as the first again


class OwnOpa:
    """Starts an OPA with `config` and starts it again whenever it ends. `port` None picks a free one, and keeps it."""

    def __init__(self, executable: Path, config: dict[str, Any], port: int | None) -> None:
        self._executable = executable
        self._config = config
        self._opa = ManagedOpa(executable, config, port=port)
        self.url = ""

    async def start(self) -> None:
        """Start it. Raises OpaStartError with what OPA said, PortTaken where its port is taken."""
        self.url = await self._opa.start()

    async def keep(self, ended: Callable[[], None]) -> None:
        """Start it again whenever it ends, until cancelled. `ended` is called each time that it runs again."""
        delay = FIRST_DELAY
        port = int(self.url.rpartition(":")[2])
        while True:
            began = asyncio.get_running_loop().time()
            status = await self._opa.exited()
            log.warning("OPA ended, starting it again", status=status, said="; ".join(self._opa.last_words[-3:]))
            if asyncio.get_running_loop().time() - began > HEALTHY:
                delay = FIRST_DELAY
            while True:
                await asyncio.sleep(delay)
                delay = min(delay * 2, LONGEST_DELAY)
                self._opa = ManagedOpa(self._executable, self._config, port=port)
                try:
                    await self._opa.start()
                    ended()
                    break
                except OpaStartError as error:
                    log.error("OPA does not start", why=str(error))

    async def stop(self) -> None:
        """Stop it, gently first."""
        await self._opa.stop()
        log.info("OPA has ended")
