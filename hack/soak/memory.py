"""Measure memory in the pauses of a soak, and detect growth."""

from __future__ import annotations

from collections.abc import Sequence

from hack.bench.figures import figure
from hack.soak.replica import Replica

# The bridge of the first replica lives as long as the soak; OPAs are killed, and Go keeps what it may need again.
SHARE = {"bridge": 1.15, "opa": 1.5}
BESIDE = {"bridge": 10.0, "opa": 40.0}  # MiB
MOST = {"bridge": 200.0, "opa": 400.0}  # MiB, at any rest: the cluster is small
_THIRDS = 3


class Memories:
    """MiB of the first replica's bridge and of its OPA, by pause."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        self._seen: dict[str, list[float]] = {}

    def note(self, replicas: Sequence[Replica]) -> None:
        """Measure now."""
        found = replicas[0].memories()
        self.last = {name: round(used) for name, used in found.items()}
        for name, used in found.items():
            self._seen.setdefault(name, []).append(used)

    def grown(self) -> list[str]:
        """Return one line for each growth between the first and the last third of the pauses."""
        findings = []
        for name, seen in self._seen.items():
            third = max(1, len(seen) // _THIRDS)
            before, after = max(seen[:third]), min(seen[-third:])
            if len(seen) >= _THIRDS and after > before * SHARE[name] + BESIDE[name]:
                findings.append(f"the memory of {name} grew from {before:.0f} to {after:.0f} MiB")
            if max(seen) > MOST[name]:
                findings.append(f"the memory of {name} was {max(seen):.0f} MiB at a rest, more than {MOST[name]:.0f}")
        return findings

    def report(self) -> None:
        """Print figures."""
        for name, seen in self._seen.items():
            figure(f"soak_memory_{name}", seen[-1], "MiB", first=seen[0], most=max(seen))
