from __future__ import annotations

import math

from bridge.pacing import Backoff, delay_after


def test_delays_double_up_to_the_longest() -> None:
    assert [delay_after(failures, 0.1, 1.0) for failures in range(1, 7)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_longest_delay_stays_after_thousands_of_failures() -> None:
    assert delay_after(5_000, 0.1, 30.0) == 30.0
    assert delay_after(5_000, 0.1, math.inf) == math.inf


def test_first_delay_follows_a_success() -> None:
    backoff = Backoff(0.5, 8.0)
    assert [backoff.next(), backoff.next()] == [0.5, 1.0]
    backoff.reset()
    assert backoff.next() == 0.5


def test_spread_varies_each_delay_within_its_bounds() -> None:
    delays = [Backoff(1.0, 1.0, spread=(0.8, 1.2)).next() for _ in range(100)]
    assert all(0.8 <= delay <= 1.2 for delay in delays)
    assert len(set(delays)) > 1
