import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.work import FAILED, Budget, RetryQueue

pytestmark = pytest.mark.fake_time


async def test_a_key_that_is_added_first_is_the_next_of_its_owner_and_of_no_other() -> None:
    queue: RetryQueue[str] = RetryQueue(lambda key: key[0])
    queue.add(["a1", "a2", "b1", "b2"])
    queue.add(["b2"], first=True)
    assert await queue.take(10) == ["a1", "b2", "a2", "b1"]


async def test_failures_wait_twice_as_long_each_time_up_to_a_bound() -> None:
    queue: RetryQueue[str] = RetryQueue()
    clock = asyncio.get_running_loop().time
    waits = []
    for _ in range(12):
        before = clock()
        queue.failed("a")
        assert await queue.take(1) == ["a"]
        waits.append(round(clock() - before, 3))
    assert waits[:4] == [0.1, 0.2, 0.4, 0.8]
    assert waits[-1] == FAILED.max


async def test_after_a_success_the_next_failure_is_the_first() -> None:
    queue: RetryQueue[str] = RetryQueue()
    for _ in range(5):
        queue.failed("a")
        await queue.take(1)
    queue.succeeded("a")
    before = asyncio.get_running_loop().time()
    queue.failed("a")
    await queue.take(1)
    assert round(asyncio.get_running_loop().time() - before, 3) == 0.1


async def test_a_new_key_does_not_wait_for_a_failed_one() -> None:
    queue: RetryQueue[str] = RetryQueue()
    for _ in range(5):
        queue.failed("a")
        await queue.take(1)
    queue.failed("a")
    taking = asyncio.create_task(queue.take(1))
    await asyncio.sleep(0.01)
    before = asyncio.get_running_loop().time()
    queue.add("b")
    assert await taking == ["b"]
    assert asyncio.get_running_loop().time() == before
    assert await queue.take(1) == ["a"]


async def test_a_key_that_failed_is_taken_at_once_when_it_is_added_and_only_once() -> None:
    queue: RetryQueue[str] = RetryQueue()
    queue.failed("a")
    queue.add("a")
    taken = await queue.take(5)
    queue.succeeded("a")
    assert (taken, len(queue)) == (["a"], 0)


@given(st.lists(st.floats(0, 3), max_size=60), st.floats(0.5, 20), st.integers(1, 10))
async def test_no_span_has_more_permits_than_rate_and_burst_allow(pauses: list[float], rate: float, burst: int) -> None:
    budget = Budget(rate, burst)
    times: list[float] = []
    for pause in pauses:
        await asyncio.sleep(pause)
        await budget.spend()
        times.append(asyncio.get_running_loop().time())
    for first, begin in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= burst + (times[last] - begin) * rate + 1e-6


async def test_many_that_wait_at_once_get_a_permit_each_at_the_rate() -> None:
    budget = Budget(10, 2)

    async def spend() -> float:
        await budget.spend()
        return round(asyncio.get_running_loop().time(), 3)

    assert await asyncio.gather(*(spend() for _ in range(5))) == [0, 0, 0.1, 0.2, 0.3]


async def test_permits_that_come_soon_are_those_left_and_those_of_that_time() -> None:
    budget = Budget(10, 4)
    soon = [budget.permits_within(0.2)]
    for _ in range(4):
        await budget.spend()
    soon.append(budget.permits_within(0.2))
    await budget.spend()
    assert [*soon, budget.permits_within(0)] == [4, 2, 1]


def test_a_budget_brings_at_least_one_permit() -> None:
    assert [Budget(50, 10).permits_of(seconds) for seconds in (0.2, 1.0, 0.001)] == [10, 50, 1]
