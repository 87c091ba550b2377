"""The one way in which tests wait."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.eventually import eventually, eventually_blocking


def counting() -> Iterator[int]:
    yield from range(100)


async def test_first_result_that_fits_is_returned() -> None:
    numbers = counting()
    assert await eventually(lambda: next(numbers), lambda number: number > 3, pause=0) == 4


async def test_coroutines_are_awaited() -> None:
    numbers = counting()

    async def look() -> int:
        return next(numbers)

    assert await eventually(look, lambda number: number == 2, pause=0) == 2


async def test_time_out_names_the_last_result_and_the_context() -> None:
    with pytest.raises(AssertionError, match=r"(?s)not within 0\.01 s; at last: 7\nthe log"):
        await eventually(lambda: 7, lambda number: number > 7, patience=0.01, pause=0.001, about=lambda: "the log")


def test_missing_keys_and_unavailable_servers_count_as_not_yet() -> None:
    errors: list[Exception] = [KeyError("status"), ConnectionRefusedError()]

    def look() -> str:
        if errors:
            raise errors.pop()
        return "there"

    assert eventually_blocking(look, pause=0) == "there"


def test_other_errors_end_the_wait_at_once() -> None:
    def look() -> bool:
        pytest.fail("the process has ended")

    with pytest.raises(pytest.fail.Exception, match="the process has ended"):
        eventually_blocking(look)
