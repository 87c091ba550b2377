"""Processes: a bridge as users start it, on a cluster or a folder, and what /proc says about it and its OPA."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.controlplane.process import ServerProcess

ROOT = Path(__file__).resolve().parents[1]
_PATIENCE = 900.0  # seconds for one event in the log
_PAUSE = 0.02  # seconds between two checks of the log


# Reports the seconds of processor time, and the kilobytes of the command and of its largest child, which is OPA.
_REPORTING = """
import atexit, resource, sys
def report():
    own, below = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = sum(one.ru_utime + one.ru_stime for one in (own, below))
    print(f"\\n{seconds} {own.ru_maxrss} {below.ru_maxrss}", file=sys.stderr)
atexit.register(report)
from bridge.cli.main import main
main()
"""


class Use(NamedTuple):
    """The seconds of processor time of a command with its OPA, and the highest memory of each in MiB."""

    seconds: float
    memory: float
    memory_of_opa: float


@dataclass(frozen=True, slots=True)
class Program:
    """The bridge of a checkout, with this environment's packages."""

    root: Path = ROOT

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of `pbctl` with these arguments."""
        return [sys.executable, "-P", "-m", "bridge.cli.main", *arguments]  # -P: not the one of this folder

    def environment(self, settings: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a command, which has no settings but these."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
        return inherited | {"PYTHONPATH": str(self.root), "BRIDGE_LOG_FORMAT": "json"} | dict(settings or {})

    def processor_time(self, *arguments: str) -> float:
        """Run a command, which may find problems; return the processor time of all its processes."""
        return self.use(*arguments).seconds

    def use(self, *arguments: str) -> Use:
        """Run a command, which may find problems; return what it and its OPA needed."""
        command = [sys.executable, "-P", "-c", _REPORTING, *arguments]
        done = subprocess.run(
            command, env=self.environment(), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        if done.returncode not in {0, 1}:
            failed = f"pbctl {' '.join(arguments)} ended with {done.returncode}: {done.stderr.decode()[-500:]}"
            raise RuntimeError(failed)
        seconds, own, opas = done.stderr.decode().splitlines()[-1].split()
        return Use(float(seconds), int(own) / 1024, int(opas) / 1024)


HERE = Program()


class BridgeProcess:
    """A context with a `pbctl run`, whose OPA is not yet synced at the beginning.

    `log` is the file with its log, `url` its address, `opa_url` that of its OPA.
    """

    def __init__(
        self,
        folder: Path,
        options: Collection[str],
        settings: Mapping[str, str] | None = None,
        program: Program = HERE,
    ) -> None:
        self.log = folder / "bridge.log"
        self._command = program.command("run", *options)
        self._environment = program.environment(settings)

    async def __aenter__(self) -> Self:
        self._process = ServerProcess(self._command, self.log, self._environment)
        started = await self.logged("running")
        self.url, self.opa_url = str(started["bridge"]), str(started["opa"])
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._process.kill)

    async def logged(self, event: str, count: int = 1) -> dict[str, Any]:
        """Wait until an event is in the log for the `count`th time, and return it. Raises RuntimeError."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            found = list(self._events(event))
            if len(found) >= count:
                return found[count - 1]
            if time.monotonic() > deadline or not self._process.running:
                raise RuntimeError(f"the bridge does not log {event!r}:\n{self._process.last_lines()}")
            await asyncio.sleep(_PAUSE)

    def pids(self) -> dict[str, int]:
        """Return the process ids of the bridge and of its OPA, if they run and the system has /proc."""
        bridge = running_below(self._process.pid, Path(sys.executable).name, b"run")
        found = {"bridge": bridge, "opa": opa_below(self._process.pid)}
        return {name: pid for name, pid in found.items() if pid is not None}

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the `bridge` or its `opa`."""
        os.kill(self.pids()[name], number)

    def memories(self) -> dict[str, float]:
        """Return the MiB of the bridge and of its OPA (proportional set size)."""
        return {name: memory(pid) for name, pid in self.pids().items()}

    def processor_times(self) -> dict[str, float]:
        """Return the seconds of processor time of the bridge and of its OPA so far."""
        return {name: processor_time(pid) for name, pid in self.pids().items()}

    def errors(self) -> list[str]:
        """Return the logged errors, and what is no log line but a traceback."""
        return [
            line[:500]
            for line in self.log.read_text(errors="replace").splitlines()
            if '"level": "error"' in line or '"level": "critical"' in line or line.startswith(("Traceback", "Task exc"))
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


def memory(pid: int) -> float:
    """Return the memory of a process in MiB: its proportional set size."""
    return _mebibytes(Path(f"/proc/{pid}/smaps_rollup"), "Pss:")


def highest_memory(pid: int) -> float:
    """Return the peak of a process's memory in MiB since its start."""
    return _mebibytes(Path(f"/proc/{pid}/status"), "VmHWM:")


def _mebibytes(file: Path, field: str) -> float:
    return next(int(line.split()[1]) / 1024 for line in file.read_text().splitlines() if line.startswith(field))


def processor_time(pid: int) -> float:
    """Return the seconds of processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def slowdown_of(pid: int) -> float:
    """Return how many times as long a process took for its work, because its threads waited for a processor."""
    threads = [file.read_text().split() for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    running, waiting = (sum(int(times[place]) for times in threads) for place in (0, 1))
    return (running + waiting) / running if running else 1.0


def opa_below(pid: int | None) -> int | None:
    """Return the process id of an OPA that serves below a process; None if there is none, or no /proc."""
    return running_below(pid, "opa", b"--server") if pid else None


def running_below(pid: int, name: str, argument: bytes) -> int | None:
    """Return the first process below another one that runs an executable of this name with an argument."""
    for descendant in _descendants(pid):
        try:
            executable, *arguments = Path(f"/proc/{descendant}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has just ended
        if Path(os.fsdecode(executable)).name == name and argument in arguments:
            return descendant
    return None


def _descendants(pid: int) -> list[int]:
    """Return the descendants of a process, those near it first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = entry.read_text().rpartition(")")
        except OSError:
            continue  # it has just ended
        children.setdefault(int(rest.split()[1]), []).append(int(entry.parent.name))
    found = [pid]
    for process in found:
        found += children.get(process, [])
    return found[1:]
