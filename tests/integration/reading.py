"""Read a change stream in a test up to a condition, with a time-out."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from bridge.model.changes import Change, Deleted, Listed, Object, Trouble, Upserted


class Reader:
    """A reader of a change stream; `seen` has all changes so far."""

    def __init__(self, changes: AsyncGenerator[Change, None] | AsyncIterator[Change]) -> None:
        self._changes = changes
        self.seen: list[Change] = []

    async def until(self, done: Callable[[Change], bool], patience: float = 300.0) -> list[Change]:
        """Return the changes up to and including the first one that `done` accepts.

        Raises AssertionError after `patience` seconds.
        """
        new: list[Change] = []
        try:
            async with asyncio.timeout(patience):
                async for change in self._changes:
                    new.append(change)
                    self.seen.append(change)
                    if done(change):
                        return new
        except TimeoutError:
            raise AssertionError(f"waited {patience:.0f} s, and received only {short(new)}") from None
        raise AssertionError(f"the stream ended after {short(new)}")

    async def until_listed(self, type_id: str) -> list[Change]:
        """Return the changes up to the end of a type's listing."""
        return await self.until(lambda change: change == Listed(type_id))

    async def until_trouble(self) -> Trouble:
        """Return the next Trouble."""
        change = (await self.until(lambda change: isinstance(change, Trouble)))[-1]
        assert isinstance(change, Trouble)
        return change

    @property
    def troubles(self) -> list[Trouble]:
        """Every Trouble so far."""
        return [change for change in self.seen if isinstance(change, Trouble)]

    async def until_named(self, name: str) -> list[Change]:
        """Return the changes up to the first one of an object with this name."""
        return await self.until(lambda change: name in names([change]))


@asynccontextmanager
async def reading(changes: AsyncIterator[Change]) -> AsyncIterator[Reader]:
    """A Reader of a stream that is closed at the end."""
    try:
        yield Reader(changes)
    finally:
        if isinstance(changes, AsyncGenerator):
            await changes.aclose()


def names(changes: Sequence[Change]) -> list[str]:
    """The names of the objects that were upserted or deleted, in order."""
    found: list[str] = []
    for change in changes:
        if isinstance(change, Upserted):
            found += [obj["metadata"]["name"] for obj in change.objects]
        elif isinstance(change, Deleted):
            found.append(change.key.name)
    return found


def whole(change: Change, number: int = -1) -> Object:
    """One object of an Upserted, with all of it parsed."""
    assert isinstance(change, Upserted)
    obj: Object = msgspec.json.decode(msgspec.json.encode(change.objects[number]))
    return obj


def short(changes: Sequence[Change]) -> str:
    """The changes with the names of objects instead of the objects."""
    return str([f"{type(change).__name__}{names([change])}" if names([change]) else change for change in changes])
