from collections.abc import Mapping
from typing import Any

from structlog.testing import capture_logs

from bridge.model.changes import Deleted, Listed, Listing, Object, Rejected, Upserted
from bridge.model.keys import Key, key_of
from bridge.replicator.intake import Rejections

TYPE = "core/Thing"


def thing(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": name, "namespace": "shop"}}


def rejected(name: str, reason: str = "it is too deep") -> Rejected:
    return Rejected(TYPE, key(name), thing(name), reason)


def key(name: str) -> Key:
    return key_of(thing(name))


def logged(rejections: Rejections) -> list[dict[str, Any]]:
    with capture_logs() as logs:
        rejections.report()
    return [{name: value for name, value in entry.items() if name != "log_level"} for entry in logs]


async def test_objects_with_one_reason_are_one_line_and_each_is_reported_once() -> None:
    rejections = Rejections()
    for _ in range(2):
        rejections.take_in(rejected("a"))
        rejections.take_in(rejected("b"))
    keys = ["core/Thing/shop/a", "core/Thing/shop/b"]
    assert logged(rejections) == [
        {"event": "objects rejected", "reason": "it is too deep", "count": 2, "keys": keys},
    ]
    rejections.take_in(rejected("a"))
    assert logged(rejections) == []
    assert rejections.counts[TYPE] == 2


async def test_line_names_few_of_many_objects() -> None:
    rejections = Rejections()
    for number in range(1000):
        rejections.take_in(rejected(f"{number:04}"))
    [line] = logged(rejections)
    assert (line["count"], len(line["keys"])) == (1000, 10)


async def test_object_that_is_taken_or_deleted_is_no_longer_rejected() -> None:
    rejections = Rejections()
    for name in ("fixed", "deleted"):
        rejections.take_in(rejected(name))
    rejections.report()
    rejections.take_in(Upserted(TYPE, (thing("fixed"), thing("other"))))
    rejections.take_in(Deleted(TYPE, key("deleted")))
    keys = ["core/Thing/shop/deleted", "core/Thing/shop/fixed"]
    assert logged(rejections) == [{"event": "objects no longer rejected", "count": 2, "keys": keys}]
    assert not rejections
    assert rejections.counts[TYPE] == 0


async def test_a_listing_removes_missing_rejected_objects() -> None:
    rejections = Rejections()
    for name in ("stays", "gone"):
        rejections.take_in(rejected(name))
    rejections.take_in(Listing(TYPE))
    rejections.take_in(rejected("stays"))
    rejections.take_in(Listed(TYPE))
    assert list(rejections) == [key("stays")]


async def test_each_rejection_is_recorded_once_a_reason() -> None:
    reported: list[tuple[str, str, str]] = []

    def record(regarding: Mapping[str, Any], event_type: str, reason: str, message: str) -> None:
        reported.append((regarding["metadata"]["name"], event_type, f"{reason}: {message}"))

    rejections = Rejections(record)
    rejections.take_in(rejected("a"))
    rejections.take_in(rejected("a"))
    assert reported == [
        ("a", "Warning", "NotReplicated: Policies cannot use this object: it is too deep."),
    ]
