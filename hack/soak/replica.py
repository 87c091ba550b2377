"""One replica: a `bridge run` in its own process, with its OPA. It always terminates with the soak."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hack.bench.figures import descendants, memory
from hack.soak.cluster import SELECTED
from tests.controlplane.process import ServerProcess

BRIDGE = Path(sys.executable).parent / "bridge"
CHANGING = {  # settings for random changes
    "BRIDGE_TYPES": ",".join(SELECTED),
    "BRIDGE_STATUS_WRITES_PER_SECOND": "1000",  # what is compared is what they say, not how fast they come
}
_PATIENCE = 180.0  # seconds until a bridge that was started runs; on a machine that is busy it takes long


class Replica:
    """A bridge that is started, killed and started again; `name` is in the names of its logs."""

    def __init__(
        self,
        name: str,
        kubeconfig: Path,
        folder: Path,
        options: Sequence[str] = ("--listen", "127.0.0.1:0"),
        settings: Mapping[str, str] = CHANGING,
    ) -> None:
        self.name = name
        self._kubeconfig = kubeconfig
        self._options = options
        self._settings = settings
        self._folder = folder
        self._process: ServerProcess | None = None
        self._starts = 0

    async def start(self) -> None:
        """Start the bridge; return when it runs, before OPA is synced."""
        self._starts += 1
        log = self._folder / f"bridge-{self.name}-{self._starts:03}.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
        environment |= {**self._settings, "BRIDGE_LOG_FORMAT": "json"}
        command = [str(BRIDGE), "run", "--kubeconfig", str(self._kubeconfig), *self._options]
        self._process = ServerProcess(command, log, environment)
        deadline = time.monotonic() + _PATIENCE
        while not self._said("running"):
            if time.monotonic() > deadline or not self._process.running:
                raise RuntimeError(f"bridge {self.name} does not run:\n{self._process.last_lines()}")
            await asyncio.sleep(0.1)

    def kill(self) -> None:
        """Kill the bridge as the kernel does when memory is short; its OPA terminates too."""
        for send in (self.signal_opa, self.signal_bridge):  # what is frozen does not end
            send(signal.SIGCONT)
        if self._process is not None:
            self._process.kill()

    @property
    def running(self) -> bool:
        """Return whether the bridge runs."""
        return self._process is not None and self._process.running

    @property
    def opa_url(self) -> str:
        """Return the URL of its OPA."""
        return str(self._said("running")["opa"])

    def signal_opa(self, number: signal.Signals) -> None:
        """Send its OPA a signal, if one runs."""
        self._signal(self._pid_of("opa"), number)

    def signal_bridge(self, number: signal.Signals) -> None:
        """Send the bridge a signal."""
        self._signal(self._pid_of("bridge"), number)

    def memories(self) -> dict[str, float]:
        """Return the MiB of the bridge and of its OPA, if the system reports them."""
        found = {name: memory(pid) for name, pid in self.pids().items()}
        return {name: used for name, used in found.items() if used is not None}

    def pids(self) -> dict[str, int]:
        """Return the running processes of the bridge and of its OPA."""
        found = {name: self._pid_of(name) for name in ("bridge", "opa")}
        return {name: pid for name, pid in found.items() if pid is not None}

    def errors(self) -> list[str]:
        """Return the logged errors and the exit errors of all its bridges."""
        return [
            f"{log.name}: {line[:300]}"
            for log in sorted(self._folder.glob(f"bridge-{self.name}-*.log"))
            for line in log.read_text(errors="replace").splitlines()
            if _is_error(line)
        ]

    def crashes(self) -> list[str]:
        """Return the uncaught errors."""
        return [line for line in self.errors() if "Traceback" in line or '"level": "critical"' in line]

    def _pid_of(self, name: str) -> int | None:
        if self._process is None:
            return None
        return next((pid for pid, other in descendants(self._process.pid).items() if other == name), None)

    def _signal(self, pid: int | None, number: signal.Signals) -> None:
        if pid is not None:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return

    def _said(self, event: str) -> dict[str, Any]:
        log = self._folder / f"bridge-{self.name}-{self._starts:03}.log"
        return next((entry for entry in _entries(log) if entry.get("event") == event), {})


def _entries(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text(errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def _is_error(line: str) -> bool:
    return '"level": "error"' in line or '"level": "critical"' in line or line.startswith("Traceback")
