import math

from tenacity import wait_exponential

from bridge.work import Backoff, delay_after


def test_delays_double_up_to_the_longest() -> None:
    wait = wait_exponential(multiplier=0.1, max=1.0)
    assert [delay_after(wait, failures) for failures in range(1, 7)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_longest_delay_stays_after_thousands_of_failures() -> None:
    assert delay_after(wait_exponential(multiplier=0.1, max=30.0), 5_000) == 30.0
    assert delay_after(wait_exponential(multiplier=0.1, max=math.inf), 5_000) > 1e300


def test_first_delay_follows_a_success() -> None:
    backoff = Backoff(wait_exponential(multiplier=0.5, max=8.0))
    assert [backoff.next(), backoff.next()] == [0.5, 1.0]
    backoff.reset()
    assert backoff.next() == 0.5
