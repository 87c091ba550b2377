import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Resolved, Trouble, Upserted
from bridge.model.keys import Key
from bridge.replicator.intake import LARGE, Pending, size_of
from tests import builders

TYPE = "core/Service"
MANY = 1 << 30  # bytes
NAMES = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("upsert"), NAMES),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.sampled_from(["list_first_page", "list_rest", "take", "write"]), st.just("")),
    ),
    max_size=60,
)


def service(name: str, number: int = 0) -> Object:
    return builders.service(name, metadata={"resourceVersion": str(number)})


def key(name: str) -> Key:
    return Key("core", "Service", "shop", name)


class Cluster:
    """Objects, a client that lists and watches them, and a writer that takes any time for a batch."""

    def __init__(self) -> None:
        self.exists: dict[Key, Object] = {}
        self.held: dict[Key, Object] = {}
        self._pending = Pending(lambda type_id: {one for one in self.held if one.type_id == type_id})
        self._listing: dict[Key, Object] | None = None
        self._batch: dict[Key, Object | None] = {}
        self._number = 0

    def upsert(self, name: str) -> None:
        """An object is created or changed."""
        if self._listing is None:  # the watch begins where the listing was made
            self._number += 1
            self.exists[key(name)] = service(name, self._number)
            self._pending.take_in(Upserted(TYPE, (self.exists[key(name)],)))

    def delete(self, name: str) -> None:
        """An object is deleted."""
        if self._listing is None and key(name) in self.exists:
            del self.exists[key(name)]
            self._pending.take_in(Deleted(TYPE, key(name)))

    def list_first_page(self, _: str) -> None:
        """The client begins to list, in two pages."""
        # Between a watch that was lost and the listing anything may have happened.
        for gone in list(self.exists)[::2]:
            del self.exists[gone]
        self._listing = dict(self.exists)
        self._pending.take_in(Listing(TYPE))
        self._pending.take_in(Upserted(TYPE, tuple(self._listing.values())[:1]))

    def list_rest(self, _: str = "") -> None:
        """The second page comes, and the listing is over."""
        if self._listing is not None:
            self._pending.take_in(Upserted(TYPE, tuple(self._listing.values())[1:]))
            self._pending.take_in(Listed(TYPE))
            self._listing = None

    def take(self, _: str) -> None:
        """The writer takes a batch."""
        if not self._batch:
            self._batch = self._pending.take_out(2, MANY)

    def write(self, _: str = "") -> None:
        """The writer has written its batch."""
        for one, obj in self._batch.items():
            if obj is None:
                self.held.pop(one, None)
            else:
                self.held[one] = obj
        self._batch = {}

    def come_to_rest(self) -> None:
        """Everything is listed and written."""
        self.list_rest()
        self.write()
        while len(self._pending):
            self.take("")
            self.write()


@given(STEPS)
def test_once_all_is_written_opa_holds_all_that_the_source_has(steps: list[tuple[str, str]]) -> None:
    cluster = Cluster()
    for what, name in steps:
        getattr(cluster, what)(name)
    cluster.come_to_rest()
    assert cluster.held == cluster.exists


def nothing(_: str) -> set[Key]:
    return set()


def test_the_oldest_come_out_first() -> None:
    pending = Pending(nothing)
    pending.take_in(Upserted(TYPE, tuple(map(service, "abc"))))
    assert list(pending.take_out(2, MANY)) == [key("a"), key("b")]
    assert list(pending.take_out(2, MANY)) == [key("c")]


def test_a_taken_change_has_the_time_of_its_first_arrival() -> None:
    pending = Pending(nothing)
    moments = []
    for name in "abca":
        before = time.monotonic()
        pending.take_in(Upserted(TYPE, (service(name),)))
        moments.append((before, time.monotonic()))
    pending.take_out(2, MANY)
    first, second = pending.arrivals
    assert (moments[0][0] <= first <= moments[0][1], moments[1][0] <= second <= moments[1][1]) == (True, True)
    pending.take_out(2, MANY)
    (third,) = pending.arrivals
    assert moments[2][0] <= third <= moments[2][1]


def test_a_listing_of_one_type_leaves_the_others_alone() -> None:
    pending = Pending(nothing)
    pending.take_in(Upserted(TYPE, (service("a"),)))
    pending.take_in(Listing("core/Namespace"))
    pending.take_in(Listed("core/Namespace"))
    assert pending.take_out(10, MANY) == {key("a"): service("a")}


@pytest.mark.parametrize("change", [Trouble(TYPE, "away"), Resolved("a.yaml:1"), Upserted(TYPE, ())])
def test_a_change_without_an_object_does_not_wait(change: Change) -> None:
    pending = Pending(nothing)
    pending.take_in(change)
    assert len(pending) == 0


def test_after_clearing_nothing_is_listed_or_written() -> None:
    pending = Pending(nothing)
    pending.take_in(Listing(TYPE))
    pending.take_in(Upserted(TYPE, (service("a"), service("b"))))
    pending.take_out(1, MANY)
    pending.clear()
    pending.take_in(Listed(TYPE))
    assert pending.take_out(10, MANY) == {}


def test_a_listing_of_one_namespace_removes_only_objects_of_that_namespace() -> None:
    held = {key("a"), key("b"), Key("core", "Service", "infra", "c")}
    pending = Pending(lambda _: set(held))
    for change in (Listing(TYPE, "shop"), Upserted(TYPE, (service("a"),)), Listed(TYPE, "shop")):
        pending.take_in(change)
    assert {one: obj is None for one, obj in pending.objects().items()} == {key("a"): False, key("b"): True}


def test_a_listing_of_a_namespace_within_that_of_the_type_counts_for_both() -> None:
    held = {key("a"), key("b"), Key("core", "Service", "infra", "c")}
    pending = Pending(lambda _: set(held))
    for change in (
        Listing(TYPE),
        Listing(TYPE, "shop"),
        Upserted(TYPE, (service("a"),)),
        Listed(TYPE, "shop"),
        Listed(TYPE),
    ):
        pending.take_in(change)
    gone = {one for one, obj in pending.objects().items() if obj is None}
    assert gone == {key("b"), Key("core", "Service", "infra", "c")}


def test_a_batch_is_bounded_by_bytes_but_takes_one_object_in_any_case() -> None:
    pending = Pending(nothing)
    objects = [{**service(name), "data": {"text": name * 1000}} for name in "abcd"]
    pending.take_in(Upserted(TYPE, tuple(objects)))
    pending.take_in(Deleted(TYPE, key("e")))
    each = size_of(objects[0])
    assert pending.size == 4 * each
    assert list(pending.take_out(10, 2 * each)) == [key("a"), key("b")]
    assert list(pending.take_out(10, 1)) == [key("c")]
    assert list(pending.take_out(10, each)) == [key("d"), key("e")]
    assert pending.size == 0


def test_bytes_are_those_of_the_newest_state() -> None:
    pending = Pending(nothing)
    large = {**service("a"), "data": msgspec.Raw(b'"' + b"x" * 5000 + b'"')}
    pending.take_in(Upserted(TYPE, (large, service("b"))))
    assert pending.size > 5000
    pending.take_in(Upserted(TYPE, (service("a", 1),)))
    pending.take_in(Deleted(TYPE, key("b")))
    assert pending.size == size_of(service("a"))
    pending.clear()
    assert pending.size == 0


@given(st.text(max_size=300), st.dictionaries(st.text(max_size=9), st.text(max_size=3000), max_size=4))
def test_the_size_is_about_that_of_the_json(text: str, annotations: dict[str, str]) -> None:
    obj = {**service("a"), "spec": msgspec.Raw(msgspec.json.encode({"text": text}))}
    obj["metadata"] = {**obj["metadata"], "annotations": annotations}
    written = len(msgspec.json.encode(obj))
    assert written / 7 < size_of(obj) < written + 500  # a letter is up to six bytes as JSON


def test_a_type_that_is_not_served_has_no_objects_and_one_that_cannot_be_queried_keeps_them() -> None:
    pending = Pending(lambda _: {key("a")})
    pending.take_in(Trouble(TYPE, "away", unknown=True))
    pending.take_in(Trouble(TYPE, "forbidden"))
    assert not len(pending)
    pending.take_in(Trouble(TYPE, "not served", absent=True))
    assert pending.take_out(10, MANY) == {key("a"): None}


def test_namespace_with_many_changes_delays_its_own_alone() -> None:
    pending = Pending(lambda _: set())
    noisy = [in_namespace("noisy", f"a{number}") for number in range(50)]
    pending.take_in(Upserted("core/Service", (*noisy, in_namespace("quiet", "b"))))
    assert [key.namespace for key in pending.take_out(2, MANY, in_turn=True)] == ["noisy", "quiet"]
    assert [key.name for key in pending.take_out(2, MANY, in_turn=True)] == ["a1", "a2"]
    assert len(pending) == 47


def test_large_object_holds_back_its_own_namespace_alone() -> None:
    pending = Pending(lambda _: set())
    large = {**in_namespace("noisy", "large"), "spec": {"text": "x" * 100_000}}
    small = [in_namespace("quiet", name) for name in "bc"]
    pending.take_in(Upserted("core/Service", (small[0], large, small[1])))
    assert [key.name for key in pending.take_out(9, 5_000, in_turn=True)] == ["b", "c"]
    assert [key.name for key in pending.take_out(9, 5_000, in_turn=True)] == ["large"]
    assert (pending.size, len(pending.arrivals)) == (0, 1)


def in_namespace(namespace: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}}


def test_large_objects_are_written_alone_and_alternate_with_batches_of_small_ones() -> None:
    pending = Pending(nothing)
    for number in range(2):
        wide = service(f"wide-{number}")
        wide["spec"] = {"text": "x" * (LARGE + 1)}
        wide["metadata"]["namespace"] = "noisy"
        pending.take_in(Upserted(TYPE, (wide,)))
    pending.take_in(Upserted(TYPE, (service("a"), service("b"))))
    batches = [[one.name for one in pending.take_out(10, 8 * LARGE, in_turn=True)] for _ in range(4)]
    assert batches == [["a", "b"], ["wide-0"], ["wide-1"], []]
