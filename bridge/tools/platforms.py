"""This machine's name in the words of release files: `linux` or `darwin`, `amd64` or `arm64`."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True, slots=True)
class Platform:
    """An operating system and a processor, as releases name them."""

    system: str
    machine: str

    def __str__(self) -> str:
        return f"{self.system}-{self.machine}"


def this_platform() -> Platform:
    """Where this runs. An unknown system or processor keeps its own name: no release fits it, but Go may."""
    machine = platform.machine().lower()
    return Platform(sys.platform, _MACHINES.get(machine, machine or "unknown"))
