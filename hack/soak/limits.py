"""The resource limits of a Pod of the chart, and the highest usage of a bridge's processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from hack.bench.figures import figure
from hack.soak.replica import Replica

VALUES = Path(__file__).parents[2] / "deploy" / "chart" / "values.yaml"
_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def chart_limits() -> dict[str, float]:
    """Return the memory limits (MiB) of the bridge's container and of OPA's in the chart's values."""
    values: dict[str, Any] = yaml.safe_load(VALUES.read_text())
    found = {"bridge": values["resources"], "opa": values["opa"]["resources"]}
    return {name: _mebibytes(resources["limits"]["memory"]) for name, resources in found.items()}


class Processes:
    """The bridge and the OPA of a replica: their restarts, and their highest memory."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._first = replica.pids()

    def most(self) -> dict[str, float]:
        """Return the peak MiB of each process since its start; 0 for a terminated one."""
        found = {name: _highest(pid) for name, pid in self._first.items()}
        return {name: used for name, used in found.items() if used is not None}

    def report(self) -> list[str]:
        """Print figures; return a line for each restart and each usage above its limit."""
        wrong = [f"{name} has restarted" for name, pid in self._first.items() if self._replica.pids().get(name) != pid]
        limits = chart_limits()
        for name, used in self.most().items():
            figure(f"soak_tenants_memory_{name}", used, "MiB", limit=limits[name])
            if used > limits[name]:
                wrong.append(f"{name} used {used:.0f} MiB; the chart's limit is {limits[name]:.0f}")
        return wrong


def _mebibytes(quantity: str) -> float:
    return float(quantity[:-2]) * _UNITS[quantity[-2:]] / 2**20


def _highest(pid: int) -> float | None:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
