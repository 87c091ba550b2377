import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bridge.opa.batches import PART_LIMIT, parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaTimeout
from bridge.work import BatchSize

pytestmark = pytest.mark.fake_time


class Slow(Opa):
    """A client whose queries take too long if `slow` is true for one of their items."""

    def __init__(self, slow: Callable[[list[str]], bool], answers: bool = True) -> None:
        super().__init__("http://localhost")
        self.slow = slow
        self.answers = answers
        self.queries: list[list[str]] = []

    async def query(self, name: str, input_document: Any) -> Any:
        """The items, unless they take too long."""
        items = list(input_document["items"])
        self.queries.append(items)
        if self.slow(items):
            raise OpaTimeout("no answer within 5 s")
        return items

    async def is_ready(self, *, bundles: bool = False) -> bool:
        """Whether it answers other queries."""
        return self.answers


async def test_item_that_takes_too_long_is_left_out_alone_and_reported() -> None:
    opa, slow = Slow(lambda items: "c" in items), list[str]()
    answered = parts(opa, "q", "items", list("abcde"), {}, str, slow.append)
    assert [item async for _, found in answered for item in found] == list("abde")
    assert slow == ["c"]
    assert opa.queries == [list("abcde"), list("ab"), list("cde"), ["c"], list("de")]


async def test_item_at_fault_is_found_within_seconds_of_the_first_timeout() -> None:
    class Hanging(Slow):
        async def query(self, name: str, input_document: Any) -> Any:
            """No answer within 30 s if it takes too long."""
            try:
                return await super().query(name, input_document)
            except OpaTimeout:
                await asyncio.sleep(30)
                raise

    opa = Hanging(lambda items: "c" in items)
    began = asyncio.get_running_loop().time()
    async for _ in parts(opa, "q", "items", list("abcdefgh"), {}, str, lambda _: None):
        pass
    assert (asyncio.get_running_loop().time() - began) == pytest.approx(30 + 3 * PART_LIMIT)


async def test_timeout_of_an_opa_that_does_not_answer_at_all_is_an_error_at_once() -> None:
    opa, slow = Slow(lambda _: True, answers=False), list[str]()
    with pytest.raises(OpaTimeout):
        async for _ in parts(opa, "q", "items", list("ab"), {}, str, slow.append):
            pass
    assert (slow, opa.queries) == ([], [list("ab")])


async def test_item_alone_that_takes_too_long_is_an_error_where_it_is_not_retried() -> None:
    with pytest.raises(OpaTimeout):
        async for _ in parts(Slow(lambda items: "b" in items), "q", "items", list("ab"), {}):
            pass


def test_batches_grow_while_answers_come_soon_and_shrink_at_once_when_they_do_not() -> None:
    size = BatchSize(1_000, seconds=0.2)
    sizes = [size.now]
    for seconds in (0.01, 0.05, 0.05, 0.09, 0.15):
        size.learn(size.now, seconds)
        sizes.append(size.now)
    assert sizes == [100, 200, 400, 800, 1_000, 1_000]
    size.learn(1_000, 20.0)
    assert size.now == 10
    size.learn(10, 20.0)
    assert size.now == 1
    size.learn(1, 0.01)
    assert size.now == 2


def test_small_batches_do_not_change_the_batch_size() -> None:
    size = BatchSize(1_000)
    size.learn(3, 0.001)
    assert size.now == 100
