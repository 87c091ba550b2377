"""A `bridge run` in its own process, as users start it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hack.bench.figures import opa_below
from tests.controlplane.plane import ControlPlane

BRIDGE = Path(sys.executable).parent / "bridge"
WRITES = 100_000  # statuses a second: what is measured is the bridge, not its budget
_PATIENCE = 300.0
_LONGEST_LINE = 2**24  # bytes: a reader that gave up at a long line would leave the bridge to block on its log


@dataclass(slots=True)
class Sidecar:
    """A running bridge. Times are in seconds since its start: of its first list, and of the end of the sync."""

    pid: int
    url: str = ""
    opa_url: str = ""
    listing: float = 0.0
    filled: float = 0.0
    said: deque[str] = field(default_factory=lambda: deque(maxlen=20))

    @property
    def opa_pid(self) -> int | None:
        """Return the process id of its OPA."""
        return opa_below(self.pid)


@asynccontextmanager
async def running_bridge(plane: ControlPlane, environment: dict[str, str] | None = None) -> AsyncIterator[Sidecar]:
    """Run a bridge on the cluster: yield it when OPA is synced, and stop it at the end."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
    settings = {"BRIDGE_STATUS_WRITES_PER_SECOND": str(WRITES), "BRIDGE_LOG_FORMAT": "json"}
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(str(BRIDGE), "run", "--kubeconfig", str(plane.kubeconfig), "--listen", "127.0.0.1:0"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
        env=inherited | settings | (environment or {}),
    )
    sidecar = Sidecar(process.pid)
    filled = asyncio.Event()
    reading = asyncio.create_task(_read(process.stderr, sidecar, filled, began))
    try:
        waiting = asyncio.create_task(filled.wait())
        await asyncio.wait({waiting, reading}, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not filled.is_set():
            raise RuntimeError("the bridge did not sync OPA: " + " | ".join(sidecar.said))
        yield sidecar
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await asyncio.gather(reading, return_exceptions=True)


async def _read(stream: asyncio.StreamReader | None, sidecar: Sidecar, filled: asyncio.Event, began: float) -> None:
    if stream is None:
        return
    async for line in stream:
        event = _event(line)
        sidecar.said.append(line.decode(errors="replace").strip())
        if event.get("event") == "running":
            sidecar.listing = time.perf_counter() - began
            sidecar.url, sidecar.opa_url = event["bridge"], event["opa"]
        elif event.get("event") == "OPA synced":
            sidecar.filled = time.perf_counter() - began
            filled.set()


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
