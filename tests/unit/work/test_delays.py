import math

from bridge.work import Backoff, Delays


def test_delays_double_up_to_the_longest() -> None:
    assert [Delays(0.1, 1.0).after(failures) for failures in range(1, 7)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_longest_delay_stays_after_thousands_of_failures() -> None:
    assert Delays(0.1, 30.0).after(5_000) == 30.0
    assert Delays(0.1, math.inf).after(5_000) > 1e300


def test_first_delay_follows_a_success() -> None:
    backoff = Backoff(Delays(0.5, 8.0))
    assert [backoff.next(), backoff.next()] == [0.5, 1.0]
    backoff.reset()
    assert backoff.next() == 0.5


def test_spread_varies_each_delay_within_its_bounds() -> None:
    delays = [Backoff(Delays(1.0, 1.0), spread=(0.8, 1.2)).next() for _ in range(100)]
    assert all(0.8 <= delay <= 1.2 for delay in delays)
    assert len(set(delays)) > 1
