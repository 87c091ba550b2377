"""What is remembered of changes."""

import asyncio

from bridge.web import picture_updates
from bridge.web.picture_updates import Journal


def test_changes_since_a_revision_are_reported_as_one() -> None:
    written = Journal()
    written.add([("node", "a")])
    written.add([("node", "b"), ("policy", "p")])
    assert written.since(0) == {("node", "a"), ("node", "b"), ("policy", "p")}
    assert written.since(1) == {("node", "b"), ("policy", "p")}
    assert written.since(2) == set()


def test_a_reader_that_missed_too_much_begins_again() -> None:
    written = Journal()
    written.add([("node", "a")])
    written.add(("node", str(number)) for number in range(picture_updates.REMEMBERED))
    assert written.since(0) is None
    written.forget()
    assert written.since(2) is None
    assert written.since(3) == set()


def test_a_revision_of_another_epoch_is_none() -> None:
    written = Journal()
    written.add([("node", "a")])
    assert written.number(written.name()) == 1
    for name in ("", Journal().name(), written.name(7), "x-1", f"{written.name()}x"):
        assert written.number(name) is None


async def test_a_waiting_reader_is_woken_by_the_next_revision() -> None:
    written = Journal()
    waiting = asyncio.create_task(written.after(0))
    await asyncio.sleep(0)
    assert not waiting.done()
    written.add([])
    await asyncio.wait_for(waiting, 5)
