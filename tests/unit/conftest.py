"""Loops of the tests: with the mark `fake_time` sleeping costs no time."""

import asyncio
from collections.abc import Callable

import pytest

from tests.unit.fake_time import FakeTimeLoop


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The one loop of a test."""
    return {"fake": FakeTimeLoop} if item.get_closest_marker("fake_time") else {"real": asyncio.new_event_loop}
