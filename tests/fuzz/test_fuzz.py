"""No crash, no error of a server but the documented ones, and no wrong admission, whatever is sent."""

from __future__ import annotations

import pytest

from hack.fuzz.fuzzing import fuzz
from hack.fuzz.requests import request

SEED = 713


async def test_five_hundred_requests_break_nothing() -> None:
    report = await fuzz(500, SEED)
    assert not report.findings, str(report)


@pytest.mark.long
async def test_ten_thousand_requests_break_nothing() -> None:
    report = await fuzz(10_000, SEED + 1)
    assert not report.findings, str(report)
    assert sum(report.statuses.values()) == 10_000


def test_the_same_seed_sends_the_same() -> None:
    assert [request(SEED, number) for number in range(50)] == [request(SEED, number) for number in range(50)]
    assert request(SEED, 1) != request(SEED + 1, 1)
