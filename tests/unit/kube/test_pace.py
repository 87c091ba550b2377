import itertools

from bridge.kube.kube_errors import Forbidden, KubeError, ServerError, Throttled, Unreachable, Untrusted
from bridge.kube.listwatch import Pace, WatchBackoff

FORBIDDEN = Forbidden(403, "Forbidden", "no")
REFUSED = Unreachable("refused")


def waits(backoff: WatchBackoff, error: KubeError | None, count: int) -> list[float]:
    return [backoff.after(error) for _ in range(count)]


def test_waits_double_up_to_the_longest_with_jitter() -> None:
    found = waits(WatchBackoff(Pace()), FORBIDDEN, 12)
    limits = [min(0.1 * 2**n, 10) for n in range(12)]
    assert all(limit / 2 <= wait <= limit for wait, limit in zip(found, limits, strict=True))


def test_a_server_that_is_unavailable_is_looked_for_every_second() -> None:
    assert max(waits(WatchBackoff(Pace()), REFUSED, 20)) <= 1
    assert max(waits(WatchBackoff(Pace()), ServerError(503, "", "starting"), 20)) <= 1


def test_a_certificate_that_is_not_trusted_does_not_become_valid_soon() -> None:
    assert max(waits(WatchBackoff(Pace()), Untrusted("no"), 20)) > 4


def test_another_error_begins_again() -> None:
    backoff = WatchBackoff(Pace())
    waits(backoff, FORBIDDEN, 10)
    assert backoff.after(REFUSED) <= 0.1


def test_the_servers_own_wish_counts() -> None:
    starting = waits(WatchBackoff(Pace()), Throttled(429, "", "storage is (re)initializing", 1.0), 20)
    assert all(1 <= wait <= 1.1 for wait in starting)
    assert 10 <= WatchBackoff(Pace()).after(Throttled(429, "", "slow down", 3600.0)) <= 11


def test_watches_do_not_end_together() -> None:
    pace = Pace(watch=290)
    ends = {pace.watch_seconds() for _ in itertools.repeat(None, 200)}
    assert min(ends) >= 261
    assert max(ends) <= 319
    assert len(ends) > 10
