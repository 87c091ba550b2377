"""No crash, no error of a server but the documented ones, and no wrong admission, whatever is sent."""

from __future__ import annotations

import pytest

from hack.fuzz.fuzzing import fuzz

SEED = 713


@pytest.mark.long
async def test_five_hundred_requests_break_nothing() -> None:
    report = await fuzz(500, SEED)
    assert not report.findings, str(report)


@pytest.mark.long
async def test_ten_thousand_requests_break_nothing() -> None:
    report = await fuzz(10_000, SEED + 1)
    assert not report.findings, str(report)
    assert sum(report.statuses.values()) >= 10_000
