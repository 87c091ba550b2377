import asyncio

from hypothesis import given
from hypothesis import strategies as st

from bridge.work import OwnersTurns, Turns


def turns(*keys: str) -> Turns[str]:
    waiting: Turns[str] = Turns(lambda key: key[0])
    for key in keys:
        waiting.add(key)
    return waiting


def test_owners_take_turns_and_keys_of_one_owner_come_in_their_order() -> None:
    waiting = turns("a1", "a2", "a3", "a4", "b1", "c1", "c2")
    assert waiting.take(5) == ["a1", "b1", "c1", "a2", "c2"]
    assert waiting.take(5) == ["a3", "a4"]
    assert len(waiting) == 0


def test_keys_of_one_owner_are_taken_and_its_turn_is_after_all_others() -> None:
    waiting = turns("a1", "a2", "a3", "b1")
    assert waiting.take_of("a", 2) == ["a1", "a2"]
    assert waiting.owners == ["b", "a"]
    assert waiting.take_of("a", 2) == ["a3"]
    assert (waiting.owners, len(waiting)) == (["b"], 1)


def test_the_owner_of_the_last_turn_waits_for_the_others_in_the_next_take() -> None:
    waiting = turns("a1", "a2", "b1")
    assert waiting.take(1) == ["a1"]
    assert waiting.take(1) == ["b1"]


def test_key_that_waits_already_keeps_its_place() -> None:
    waiting = turns("a1", "a2")
    waiting.add("a1")
    assert len(waiting) == 2
    assert "a1" in waiting
    assert waiting.take(9) == ["a1", "a2"]


def test_key_that_does_not_fit_holds_back_its_owner_alone() -> None:
    waiting = turns("a-large", "a2", "b1", "b2")
    assert waiting.take(9, lambda key: key != "a-large") == ["b1", "b2"]
    assert waiting.take(9) == ["a-large", "a2"]


def test_key_that_is_discarded_waits_no_more() -> None:
    waiting = turns("a1", "b1", "b2")
    for key in ("a1", "b1", "c1"):
        waiting.discard(key)
    assert (len(waiting), waiting.take(9)) == (1, ["b2"])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50))), st.integers(1, 7))
def test_every_key_comes_out_once_and_no_owner_waits_longer_than_one_round(
    pairs: list[tuple[str, int]], limit: int
) -> None:
    keys = [f"{owner}{number}" for owner, number in pairs]
    waiting = turns(*keys)
    taken: list[str] = []
    while len(waiting):
        taken += waiting.take(limit)
    assert sorted(taken) == sorted(set(keys))
    for owner in "abc":
        own = [key for key in taken if key[0] == owner]
        assert own == list(dict.fromkeys(key for key in keys if key[0] == owner))
        others = 0
        for key in taken[: taken.index(own[-1])] if own else ():
            others = 0 if key[0] == owner else others + 1
            assert others <= 2


async def test_owner_with_many_waiting_delays_another_by_one_turn() -> None:
    slots = OwnersTurns(2)
    began: list[str] = []

    async def work(owner: str) -> None:
        async with slots.of(owner):
            began.append(owner)
            await asyncio.sleep(0)

    waiting = [asyncio.create_task(work("many")) for _ in range(20)]
    await asyncio.sleep(0)
    waiting.append(asyncio.create_task(work("one")))
    await asyncio.gather(*waiting)
    assert began.index("one") < 8  # a few had ended before it waited
    assert len(began) == 21


async def test_turn_of_an_owner_that_gave_up_is_the_next_ones() -> None:
    slots = OwnersTurns(1)
    first = slots.of("a")
    await first.__aenter__()
    leaving = [asyncio.ensure_future(slots.of(owner).__aenter__()) for owner in ("a", "b", "b")]
    await asyncio.sleep(0)
    leaving[0].cancel()
    await first.__aexit__(None, None, None)  # the turn is given to the second one, which leaves as well
    leaving[1].cancel()
    await asyncio.wait_for(leaving[2], 1)
    assert [one.cancelled() for one in leaving] == [True, True, False]
