"""Faults that a bridge meets in a cluster, at random times."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable

from hack.figures import progress
from hack.processes import BridgeProcess
from tests.controlplane.plane import ControlPlane

_FROZEN = 4.0  # seconds at most
_AWAY = 5.0


class Faults:
    """Kills and freezes. The bridge of the first replica is never killed, so that its memory can be measured."""

    def __init__(self, plane: ControlPlane, replicas: list[BridgeProcess], seed: int, pause: float) -> None:
        self.counts: Counter[str] = Counter()
        self._plane = plane
        self._replicas = replicas
        self._chance = random.Random(seed)
        self._pause = pause  # seconds between two, on average
        self._repaired = asyncio.Lock()  # held while something is broken
        self._going = asyncio.Event()

    def resume(self) -> None:
        """Cause faults from now on."""
        self._going.set()

    async def rest(self) -> None:
        """Cause no faults until `resume`; return when every process runs."""
        self._going.clear()
        async with self._repaired:
            pass

    async def happen(self) -> None:
        """Cause faults until cancelled, except during `rest`."""
        kinds: list[tuple[str, int, Callable[[], Awaitable[None]]]] = [
            ("bridge_killed", 3, self._kill_bridge),
            ("opa_killed", 4, self._kill_opa),
            ("opa_frozen", 2, lambda: self._freeze("opa")),
            ("bridge_frozen", 1, lambda: self._freeze("bridge")),
            ("api_server_killed", 2, self._kill_api_server),
            ("history_forgotten", 1, self._forget_history),
        ]
        while True:
            await asyncio.sleep(self._chance.uniform(0.2, 1.8) * self._pause)
            await self._going.wait()
            (chosen,) = self._chance.choices(kinds, [weight for _, weight, _ in kinds])
            name, _, happen = chosen
            async with self._repaired:
                if not self._going.is_set():
                    continue
                progress(f"fault: {name}")
                await happen()
            self.counts[name] += 1

    async def _kill_bridge(self) -> None:
        one = self._chance.choice(self._replicas[1:])
        one.kill()
        await asyncio.sleep(self._chance.uniform(0, _AWAY))
        await one.start()

    async def _kill_opa(self) -> None:
        self._chance.choice(self._replicas).signal("opa", signal.SIGKILL)

    async def _freeze(self, name: str) -> None:
        one = self._chance.choice(self._replicas)
        one.signal(name, signal.SIGSTOP)
        await asyncio.sleep(self._chance.uniform(0.5, _FROZEN))
        one.signal(name, signal.SIGCONT)

    async def _kill_api_server(self) -> None:
        await asyncio.to_thread(self._plane.stop_api_server)
        await asyncio.sleep(self._chance.uniform(0, _AWAY))
        await asyncio.to_thread(self._plane.start_api_server)

    async def _forget_history(self) -> None:
        await asyncio.to_thread(self._plane.forget_history)
