"""Bounds of the writes under way."""

import asyncio

import pytest

from bridge.work import SLOW, WRITERS, WRITERS_EACH, Writers

pytestmark = pytest.mark.fake_time


async def test_owner_has_a_bounded_number_of_writes_at_once_and_all_have_one() -> None:
    writers: Writers[tuple[str, int]] = Writers(lambda item: item[0])
    at_once: list[str] = []
    seen: list[tuple[int, int]] = []

    async def write(item: tuple[str, int]) -> None:
        async with writers.writing(item):
            at_once.append(item[0])
            seen.append((at_once.count(item[0]), len(at_once)))
            await asyncio.sleep(SLOW / 2)
            at_once.remove(item[0])

    items = [(f"n{owner}", number) for owner in range(12) for number in range(6)]
    for item in items:
        writers.begin(item)
    await asyncio.gather(*map(write, items))
    assert max(own for own, _ in seen) == WRITERS_EACH
    assert max(total for _, total in seen) == WRITERS


async def test_no_write_begins_while_the_bound_is_reached() -> None:
    writers: Writers[tuple[str, int]] = Writers(lambda item: item[0])
    for number in range(WRITERS):
        assert writers.has_room_for((f"n{number}", 0))
        writers.begin((f"n{number}", 0))
    assert not writers.has_room_for(("other", 0))


async def test_owners_with_slow_writes_leave_half_of_the_writers_to_others() -> None:
    writers: Writers[tuple[str, int]] = Writers(lambda item: item[0])
    slow = [f"slow{number}" for number in range(WRITERS)]

    async def write_slowly(owner: str) -> None:
        writers.begin((owner, 0))
        async with writers.writing((owner, 0)):
            await asyncio.sleep(2 * SLOW)

    await asyncio.gather(*map(write_slowly, slow))
    for owner in slow:
        if writers.has_room_for((owner, 1)):
            writers.begin((owner, 1))
    assert len(writers) == WRITERS // 2
    assert writers.has_room_for(("quick", 0))


async def test_item_that_is_being_written_has_no_room_until_that_is_done() -> None:
    writers: Writers[tuple[str, int]] = Writers(lambda item: item[0])
    writers.begin(("n", 1))
    assert not writers.has_room_for(("n", 1))
    assert writers.has_room_for(("n", 2))
    async with writers.writing(("n", 1)):
        assert not writers.has_room_for(("n", 1))
    assert writers.has_room_for(("n", 1))


async def test_owner_with_a_slow_write_has_one_write_at_once_until_its_writes_are_quick() -> None:
    writers: Writers[tuple[str, int]] = Writers(lambda item: item[0])
    at_once = 0
    most = 0

    async def write(item: tuple[str, int], seconds: float) -> None:
        nonlocal at_once, most
        async with writers.writing(item):
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(seconds)
            at_once -= 1

    async def write_all(count: int, seconds: float) -> int:
        nonlocal most
        most = 0
        items = [("n", number) for number in range(count)]
        for item in items:
            writers.begin(item)
        await asyncio.gather(*(write(item, seconds) for item in items))
        return most

    assert await write_all(1, 2 * SLOW) == 1
    assert await write_all(3, 2 * SLOW) == 1
    assert await write_all(1, SLOW / 2) == 1
    assert await write_all(8, SLOW / 2) == WRITERS_EACH
