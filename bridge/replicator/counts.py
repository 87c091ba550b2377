"""Counts of a replicator, in plain numbers for occasional collection."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bridge.model.histogram import BYTES, COUNTS, MINUTES, Histogram

FILLS = ("start", "restarted", "changed", "modules", "rejected")
AUDITS = ("same", "different")


class ReplicationCounts:
    """Batches by objects and bytes, seconds from a change's arrival to OPA, syncs by reason (FILLS), audits (AUDITS).

    Writes of a full sync count among the batches, and not among the seconds, which are in `fill_seconds`.
    """

    def __init__(self) -> None:
        self.batch_objects = Histogram(COUNTS)
        self.batch_bytes = Histogram(BYTES)
        self.lag = Histogram()
        self.fills: Counter[str] = Counter()
        self.fill_seconds = Histogram(MINUTES)
        self.audits: Counter[str] = Counter()

    def taken_out(self, objects: int, size: int) -> None:
        """Count a batch."""
        self.batch_objects.observe(objects)
        self.batch_bytes.observe(size)

    def in_opa(self, arrivals: Iterable[float]) -> None:
        """Count changes that OPA has now, by their arrival (monotonic clock)."""
        now = time.monotonic()
        for arrived in arrivals:
            self.lag.observe(now - arrived)

    @contextmanager
    def filling(self, reason: str) -> Iterator[None]:
        """Count the sync that the block makes, if it succeeds."""
        began = time.monotonic()
        yield
        self.fills[reason] += 1
        self.fill_seconds.observe(time.monotonic() - began)
