import asyncio

from hypothesis import given
from hypothesis import strategies as st

from bridge.work import FAILED, Budget, RetryQueue
from tests.unit.fake_time import run


def test_a_key_that_is_added_first_is_the_next_of_its_owner_and_of_no_other() -> None:
    async def main() -> list[str]:
        queue: RetryQueue[str] = RetryQueue(lambda key: key[0])
        queue.add(["a1", "a2", "b1", "b2"])
        queue.add(["b2"], first=True)
        return await queue.take(10)

    assert run(main()) == ["a1", "b2", "a2", "b1"]


def test_failures_wait_twice_as_long_each_time_up_to_a_bound() -> None:
    async def main() -> list[float]:
        queue: RetryQueue[str] = RetryQueue()
        clock = asyncio.get_running_loop().time
        waits = []
        for _ in range(12):
            before = clock()
            queue.failed("a")
            assert await queue.take(1) == ["a"]
            waits.append(round(clock() - before, 3))
        return waits

    waits = run(main())
    assert waits[:4] == [0.1, 0.2, 0.4, 0.8]
    assert waits[-1] == FAILED.longest


def test_after_a_success_the_next_failure_is_the_first() -> None:
    async def main() -> float:
        queue: RetryQueue[str] = RetryQueue()
        for _ in range(5):
            queue.failed("a")
            await queue.take(1)
        queue.succeeded("a")
        before = asyncio.get_running_loop().time()
        queue.failed("a")
        await queue.take(1)
        return round(asyncio.get_running_loop().time() - before, 3)

    assert run(main()) == 0.1


def test_a_new_key_does_not_wait_for_a_failed_one() -> None:
    async def main() -> tuple[list[str], float, list[str]]:
        queue: RetryQueue[str] = RetryQueue()
        for _ in range(5):
            queue.failed("a")
            await queue.take(1)
        queue.failed("a")
        taking = asyncio.create_task(queue.take(1))
        await asyncio.sleep(0.01)
        before = asyncio.get_running_loop().time()
        queue.add("b")
        return await taking, asyncio.get_running_loop().time() - before, await queue.take(1)

    assert run(main()) == (["b"], 0.0, ["a"])


def test_a_key_that_failed_is_taken_at_once_when_it_is_added_and_only_once() -> None:
    async def main() -> tuple[list[str], int]:
        queue: RetryQueue[str] = RetryQueue()
        queue.failed("a")
        queue.add("a")
        taken = await queue.take(5)
        queue.succeeded("a")
        return taken, len(queue)

    assert run(main()) == (["a"], 0)


@given(st.lists(st.floats(0, 3), max_size=60), st.floats(0.5, 20), st.integers(1, 10))
def test_no_span_has_more_permits_than_rate_and_burst_allow(pauses: list[float], rate: float, burst: int) -> None:
    async def main() -> list[float]:
        budget = Budget(rate, burst)
        times: list[float] = []
        for pause in pauses:
            await asyncio.sleep(pause)
            await budget.spend()
            times.append(asyncio.get_running_loop().time())
        return times

    times = run(main())
    for first, begin in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= burst + (times[last] - begin) * rate + 1e-6


def test_many_who_wait_at_once_get_a_permit_each_at_the_rate() -> None:
    async def main() -> list[float]:
        budget = Budget(10, 2)

        async def spend() -> float:
            await budget.spend()
            return round(asyncio.get_running_loop().time(), 3)

        return await asyncio.gather(*(spend() for _ in range(5)))

    assert run(main()) == [0, 0, 0.1, 0.2, 0.3]


def test_permits_that_come_soon_are_those_left_and_those_of_that_time() -> None:
    async def main() -> list[int]:
        budget = Budget(10, 4)
        soon = [budget.permits_within(0.2)]
        for _ in range(4):
            await budget.spend()
        soon.append(budget.permits_within(0.2))
        await budget.spend()
        return [*soon, budget.permits_within(0)]

    assert run(main()) == [4, 2, 1]
