"""What admission counts, in plain numbers that somebody collects now and then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from bridge.admission.review import ReviewError
from bridge.model.histogram import Histogram

OUTCOMES = ("allowed", "denied", "failed-open", "failed-closed", "malformed")


class Counted:
    """Requests by outcome (OUTCOMES), and the seconds that answers took."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.seconds = Histogram()

    @contextmanager
    def malformed(self) -> Iterator[None]:
        """Count what the block cannot read."""
        try:
            yield
        except ReviewError:
            self.outcomes["malformed"] += 1
            raise

    def answered(self, outcome: str, seconds: float) -> None:
        """Count an answer."""
        self.outcomes[outcome] += 1
        self.seconds.observe(seconds)
