from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.kube.kube_errors import Expired, Garbled
from bridge.kube.listwatch import _changes, _Position, read_event, read_object, read_page
from bridge.model.changes import Change, Deleted, Listed, Rejected, Upserted
from bridge.model.keys import key_of
from bridge.model.types import ResourceType

THINGS = ResourceType("example.com", "v1", "Thing", "things", namespaced=True)


def line(kind: str, name: str, version: int) -> bytes:
    metadata: dict[str, Any] = {"name": name, "namespace": "shop", "resourceVersion": str(version)}
    return msgspec.json.encode({"type": kind, "object": {"metadata": metadata}})


def changes(lines: list[bytes], position: _Position) -> list[Change]:
    return list(_changes(map(read_event, lines), THINGS, position))


def test_neighbours_become_one_change_with_the_newest_state_of_each() -> None:
    position = _Position("1")
    found = changes([line("ADDED", "a", 2), line("ADDED", "b", 3), line("MODIFIED", "a", 4)], position)
    assert len(found) == 1
    assert isinstance(found[0], Upserted)
    assert [(o["metadata"]["name"], o["metadata"]["resourceVersion"]) for o in found[0].objects] == [
        ("a", "4"),
        ("b", "3"),
    ]
    assert {(o["apiVersion"], o["kind"]) for o in found[0].objects} == {("example.com/v1", "Thing")}
    assert position.version == "4"


def test_a_bookmark_moves_the_position_and_is_no_change() -> None:
    position = _Position("1")
    bookmark = b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}'
    assert changes([bookmark], position) == []
    assert position.version == "9"


def test_an_error_comes_after_the_changes_before_it() -> None:
    position = _Position("1")
    error = b'{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}}'
    found = _changes(map(read_event, [line("ADDED", "a", 2), error]), THINGS, position)
    assert isinstance(next(found), Upserted)
    with pytest.raises(Expired):
        next(found)


@pytest.mark.parametrize(
    "text",
    [b"{", b"[]", b'"text"', b'{"type": "ADDED"}', b'{"type": 1, "object": {}}'],
)
def test_a_line_that_is_not_an_event_is_reported(text: bytes) -> None:
    with pytest.raises(Garbled):
        changes([text], _Position("1"))


@given(st.lists(st.tuples(st.sampled_from(["ADDED", "MODIFIED", "DELETED"]), st.sampled_from("abc")), max_size=30))
def test_the_changes_lead_to_the_same_state_as_the_events(events: list[tuple[str, str]]) -> None:
    expected: dict[str, str] = {}
    for version, (kind, name) in enumerate(events):
        if kind == "DELETED":
            expected.pop(name, None)
        else:
            expected[name] = str(version)
    lines = [line(kind, name, version) for version, (kind, name) in enumerate(events)]
    state: dict[str, str] = {}
    for change in changes(lines, _Position("0")):
        if isinstance(change, Upserted):
            state |= {key_of(obj).name: obj["metadata"]["resourceVersion"] for obj in change.objects}
        elif isinstance(change, Deleted):
            state.pop(change.key.name, None)
    assert state == expected


END = (
    b'{"type": "BOOKMARK", "object": {"metadata": '
    b'{"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}}'
)
BOOKMARK = b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}'


def test_the_bookmark_that_ends_the_initial_events_ends_the_listing() -> None:
    position = _Position()
    found = changes([line("ADDED", "a", 2), END, line("MODIFIED", "a", 10)], position)
    assert [type(change) for change in found] == [Upserted, Listed, Upserted]
    assert position.version == "10"


def test_until_the_initial_events_have_ended_there_is_no_position_to_continue_from() -> None:
    position = _Position()
    assert len(changes([line("ADDED", "a", 2), BOOKMARK], position)) == 1
    assert position.version == ""


def test_of_an_object_only_the_metadata_is_parsed_and_managed_fields_are_left_out() -> None:
    text = (
        b'{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"shop","uid":"u","generation":2,'
        b'"finalizers":["f"],"labels":{"a":"b"},"managedFields":[{"x":1}]},"spec":{"a": [1]},"data":null}}'
    )
    (change,) = changes([text], _Position("1"))
    assert isinstance(change, Upserted)
    (obj,) = change.objects
    assert obj["metadata"] == {
        "name": "a",
        "namespace": "shop",
        "uid": "u",
        "generation": 2,
        "finalizers": ["f"],
        "labels": {"a": "b"},
    }
    assert isinstance(obj["spec"], msgspec.Raw)
    assert msgspec.json.decode(msgspec.json.encode(obj))["spec"] == {"a": [1]}
    assert msgspec.json.decode(msgspec.json.encode(obj))["data"] is None


def deep(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def wide(count: int) -> bytes:
    return b"[" + b",".join([b"1"] * count) + b"]"


BAD_OBJECTS = {
    "too deep": (b'{"metadata":{"name":"bad"},"spec":%s}' % deep(200), "bad", "more than 200 levels"),
    "too deep for Python": (b'{"metadata":{"name":"bad"},"spec":%s}' % deep(9_000), "bad", "more than 200 levels"),
    "too deep in metadata": (
        b'{"metadata":{"name":"bad","managedFields":%s},"spec":%s}' % (deep(9_000), deep(9_000)),
        "bad",
        "more than 200 levels",
    ),
    "too many values": (
        b'{"metadata":{"name":"bad"},"spec":%s}' % wide(50_000),
        "bad",
        "more than 50000 fields and items",
    ),
    "too many values in metadata": (
        b'{"metadata":{"name":"bad","ownerReferences":%s}}' % wide(50_001),
        "bad",
        "more than 50000 fields and items",
    ),
    "labels of another type": (b'{"metadata":{"name":"bad","labels":3}}', "bad", "metadata cannot be read"),
    "not UTF-8": (b'{"metadata":{"name":"bad","labels":{"a":"\xff"}}}', "bad", "not UTF-8"),
    "no name": (b'{"metadata":{}}', "", "no name"),
    "no metadata": (b"{}", "", "metadata cannot be read"),
}


@pytest.mark.parametrize(("body", "name", "reason"), BAD_OBJECTS.values(), ids=BAD_OBJECTS.keys())
def test_bad_object_is_rejected_alone(body: bytes, name: str, reason: str) -> None:
    good = msgspec.json.encode({"metadata": {"name": "good", "resourceVersion": "7"}, "spec": {"a": 1}})
    bodies = (good, body, good)
    page = read_page(b'{"metadata":{"resourceVersion":"9"},"items":[%s]}' % b",".join(bodies), "/things")
    watched = [read_event(b'{"type":"ADDED","object":%s}' % one).object for one in bodies]
    for items in (page.items or [], watched):
        first, bad, last = (read_object(item, THINGS) for item in items)
        assert isinstance(first, dict)
        assert first == last
        assert isinstance(bad, Rejected)
        assert (bad.key.type_id, bad.key.name) == (THINGS.id, name)
        assert reason in bad.reason


def test_managed_fields_and_commas_in_texts_are_no_values() -> None:
    text = msgspec.json.encode("1,{[" * 50_000)
    body = b'{"metadata":{"name":"a","managedFields":%s},"spec":{"a":%s}}' % (wide(60_000), text)
    assert isinstance(read_object(read_event(b'{"type":"ADDED","object":%s}' % body).object, THINGS), dict)


def test_deleted_object_is_deleted_however_deep_it_is() -> None:
    position = _Position("1")
    lines = [b'{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"5"},"spec":%s}}' % deep(9_000)]
    [found] = changes(lines, position)
    assert isinstance(found, Deleted)
    assert (found.key.name, position.version) == ("a", "5")


def test_rejection_comes_after_the_former_object() -> None:
    position = _Position("1")
    bad = b'{"type":"MODIFIED","object":{"metadata":{"name":"a","namespace":"shop","resourceVersion":"3"},"spec":%s}}'
    before, after = changes([line("ADDED", "a", 2), bad % deep(970)], position)
    assert isinstance(before, Upserted)
    assert isinstance(after, Rejected)
    assert after.key == key_of(before.objects[0])
    assert position.version == "3"


def test_managed_fields_of_an_object_at_the_bound_do_not_count() -> None:
    body = b'{"metadata":{"name":"a","managedFields":[%s]},"spec":%s}' % (deep(203), deep(199))
    [found] = changes([b'{"type":"ADDED","object":%s}' % body], _Position("1"))
    assert isinstance(found, Upserted)
