"""Processes: a bridge as users start it, on a cluster or a folder, and what /proc says about it and its OPA."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.controlplane.process import ServerProcess

ROOT = Path(__file__).resolve().parents[1]
_PATIENCE = 900.0  # seconds for one event in the log
_PAUSE = 0.02  # seconds between two checks of the log


@dataclass(frozen=True, slots=True)
class Program:
    """The bridge of a checkout, with this environment's packages."""

    root: Path = ROOT

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of `bridge` with these arguments."""
        return [sys.executable, "-P", "-m", "bridge.cli.main", *arguments]  # -P: not the one of this folder

    def environment(self, settings: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a command, which has no settings but these."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
        return inherited | {"PYTHONPATH": str(self.root), "BRIDGE_LOG_FORMAT": "json"} | dict(settings or {})


HERE = Program()


class BridgeProcess:
    """A `bridge run` that can be killed and started again, each time with another log in `folder`."""

    def __init__(
        self, name: str, folder: Path, options: Collection[str], settings: Mapping[str, str], program: Program = HERE
    ) -> None:
        self.name = name
        self.began = 0.0  # of the last start, as time.monotonic()
        self._folder = folder
        self._options = options
        self._settings = settings
        self._program = program
        self._process: ServerProcess | None = None
        self._starts = 0

    async def start(self) -> None:
        """Start the bridge; return when it runs, before OPA is synced. Raises RuntimeError with the end of its log."""
        self._starts += 1
        self.began = time.monotonic()
        command = self._program.command("run", *self._options)
        self._process = ServerProcess(command, self.log, self._program.environment(self._settings))
        await self.logged("running")

    def kill(self) -> None:
        """Kill the bridge as the kernel does when memory is short; its OPA ends too."""
        for name in ("opa", "bridge"):  # a frozen process does not end
            self.signal(name, signal.SIGCONT)
        if self._process is not None:
            self._process.kill()

    @property
    def log(self) -> Path:
        """Return the log of the last start."""
        return self._folder / f"bridge-{self.name}-{self._starts:03}.log"

    @property
    def running(self) -> bool:
        """Return whether the bridge runs."""
        return self._process is not None and self._process.running

    @property
    def url(self) -> str:
        """Return the URL of the bridge."""
        return str(next(self._events("running"))["bridge"])

    @property
    def opa_url(self) -> str:
        """Return the URL of its OPA."""
        return str(next(self._events("running"))["opa"])

    async def logged(self, event: str, count: int = 1) -> dict[str, Any]:
        """Wait until an event is in the log for the `count`th time, and return it. Raises RuntimeError."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            found = list(self._events(event))
            if len(found) >= count:
                return found[count - 1]
            if time.monotonic() > deadline or not self.running:
                end = self._process.last_lines() if self._process else ""
                raise RuntimeError(f"bridge {self.name} does not log {event!r}:\n{end}")
            await asyncio.sleep(_PAUSE)

    def pids(self) -> dict[str, int]:
        """Return the process ids of the bridge and of its OPA, if they run and the system has /proc."""
        below = descendants(self._process.pid) if self._process is not None else {}
        bridge = next((pid for pid, name in below.items() if name.startswith("python")), None)
        found = {"bridge": bridge, "opa": opa_below(bridge)}
        return {name: pid for name, pid in found.items() if pid is not None}

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the `bridge` or its `opa`, if it runs."""
        if pid := self.pids().get(name):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return

    def memories(self) -> dict[str, float]:
        """Return the MiB of the bridge and of its OPA, if the system reports them."""
        found = {name: memory(pid) for name, pid in self.pids().items()}
        return {name: used for name, used in found.items() if used is not None}

    def processor_times(self) -> dict[str, float]:
        """Return the seconds of processor time of the bridge and of its OPA so far."""
        return {name: processor_time(pid) for name, pid in self.pids().items()}

    def errors(self) -> list[str]:
        """Return the logged errors and the exit errors of all its starts."""
        return [
            f"{log.name}: {line[:300]}"
            for log in sorted(self._folder.glob(f"bridge-{self.name}-*.log"))
            for line in log.read_text(errors="replace").splitlines()
            if '"level": "error"' in line or '"level": "critical"' in line or line.startswith("Traceback")
        ]

    def _events(self, event: str) -> Iterator[dict[str, Any]]:
        for line in self.log.read_text(errors="replace").splitlines():
            if f'"{event}"' in line:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue  # it is being written
                if entry.get("event") == event:
                    yield entry


def memory(pid: int) -> float | None:
    """Return the memory of a process in MiB (proportional set size); None without /proc."""
    return _kibibytes(Path(f"/proc/{pid}/smaps_rollup"), "Pss:")


def highest_memory(pid: int) -> float | None:
    """Return the peak of a process's memory in MiB since its start; None for a terminated one."""
    return _kibibytes(Path(f"/proc/{pid}/status"), "VmHWM:")


def _kibibytes(file: Path, field: str) -> float | None:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), None)


def processor_time(pid: int | None) -> float:
    """Return the seconds of processor time of a process so far; 0 without one, or without /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> dict[int, str]:
    """Return the descendants of a process with the names of their executables; none without /proc."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = entry.read_text().rpartition(")")
        except OSError:
            continue
        number = int(head.split(" ", 1)[0])
        parents[number] = int(rest.split()[1])
        names[number] = head.partition("(")[2]
    found: dict[int, str] = {}
    for number in parents:
        above = number
        while above in parents and above != pid:
            above = parents[above]
        if above == pid and number != pid:
            found[number] = names[number]
    return found


def opa_below(pid: int | None) -> int | None:
    """Return the process id of an OPA that serves below a process; None if there is none, or no /proc."""
    found = descendants(pid) if pid else {}
    return next((number for number, name in found.items() if name == "opa" and _is_command(number, b"--server")), None)


def _is_command(pid: int, argument: bytes) -> bool:
    try:
        return argument in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
