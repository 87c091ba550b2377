"""The garbage collector around fills."""

from __future__ import annotations

import gc
import weakref

from bridge.replicator.initial_sync import without_collector


class Circle:
    """What only the collector can free."""

    def __init__(self) -> None:
        self.own = self


def test_garbage_of_before_a_fill_does_not_stay_after_the_next_one() -> None:
    with without_collector():
        circle = Circle()
    seen = weakref.ref(circle)
    del circle
    with without_collector():
        pass
    assert seen() is None


def test_within_a_fill_nothing_is_collected_and_later_it_is_again() -> None:
    with without_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
