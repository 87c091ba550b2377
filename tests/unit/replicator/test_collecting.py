"""The garbage collector around fills."""

import gc
import weakref

from bridge.replicator.replicator import without_collector


class Circle:
    """What only the collector can free."""

    def __init__(self) -> None:
        self.own = self


def test_garbage_from_before_an_initial_sync_does_not_stay_after_the_next_one() -> None:
    with without_collector():
        circle = Circle()
    seen = weakref.ref(circle)
    del circle
    with without_collector():
        pass
    assert seen() is None


def test_garbage_collection_pauses_during_an_initial_sync() -> None:
    with without_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
