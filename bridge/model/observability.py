"""What parts show to operators: histograms for metrics, and reports on objects, as Events or in the log."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MINUTES = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)  # seconds, for long operations
COUNTS = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1000.0, 10000.0)
BYTES = tuple(float(1 << shift) for shift in range(10, 28, 2))  # 1 KiB to 64 MiB


class Histogram:
    """Counts values by `bounds` (ascending upper bounds, inclusive). One observation takes less than a microsecond."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.total = 0.0  # of all values
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """Return the number of values."""
        return sum(self._counts)

    def cumulated(self) -> list[tuple[float, int]]:
        """Return the number of values up to each upper bound; the last bound is infinity."""
        found, so_far = [], 0
        for bound, count in zip((*self._bounds, float("inf")), self._counts, strict=True):
            so_far += count
            found.append((bound, so_far))
        return found


EventType = Literal["Normal", "Warning"]


class Record(Protocol):
    """Reports on one object (with apiVersion, kind and metadata). Returns immediately and never raises.

    `reason` is one CamelCase word that programs match (`DecisionFailed`), `message` a line for people.
    """

    def __call__(self, regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None: ...  # noqa: D102


def record_nothing(regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
    """Report nothing: a Record for places without Events."""
