from typing import Any

from bridge.remediator.placement_updates import REST, WINDOW, Flips


def declared(digest: str = "d", **annotations: str) -> dict[str, Any]:
    """What an object declares."""
    return {"digest": digest, "labels": {}, "annotations": annotations}


def flipping(most: int = 3, now: float = 0.0) -> Flips:
    """One object, patched as often as is allowed."""
    flips = Flips(most)
    for _ in range(most):
        assert not flips.is_flipping("k", now)
        flips.record_patch("k", ["where"], now)
    return flips


def test_one_patch_too_many_within_a_minute_is_noticed() -> None:
    flips = flipping()
    assert flips.is_flipping("k", WINDOW - 1)
    assert not flips.is_flipping("other", WINDOW - 1)


def test_patches_of_more_than_a_minute_ago_do_not_count() -> None:
    assert not flipping().is_flipping("k", WINDOW)


def test_a_stopped_object_continues_after_a_while() -> None:
    flips = flipping()
    assert flips.stop("k", declared(), 1) == ("where",)
    assert flips.stopped_among(["k", "other"]) == {"k"}
    assert not flips.resume("k", declared(), REST)
    assert flips.resume("k", declared(), REST + 1)
    assert flips.stopped_among(["k"]) == set()


def test_a_stopped_object_continues_when_it_declares_something_else() -> None:
    for other in (declared("e"), declared(more="1"), {**declared(), "labels": {"a": "b"}}):
        flips = flipping()
        flips.stop("k", declared(where="a"), 1)
        assert flips.resume("k", other, 2)


def test_the_annotation_that_flips_is_no_declaration() -> None:
    flips = flipping()
    flips.stop("k", declared(where="a", kept="1"), 1)
    assert not flips.resume("k", declared(where="b", kept="1"), 2)


def test_resuming_an_object_that_another_task_has_resumed_is_no_error() -> None:
    flips = flipping()
    flips.stop("k", declared(), 1)
    assert flips.resume("k", declared("e"), 2)
    assert flips.resume("k", declared("e"), 2)


def test_another_policy_starts_stopped_objects_and_forgives_no_other_client() -> None:
    flips = flipping()
    flips.stop("k", declared(), 1)
    for _ in range(3):
        flips.record_patch("flipping", ["where"], 2)
    assert flips.resume_all() == ["k"]
    assert not flips.is_flipping("k", 3)
    assert flips.is_flipping("flipping", 3)


def test_the_object_with_the_oldest_patch_is_forgotten() -> None:
    flips = Flips(most=2)
    flips.record_patch("a", ["x"], 0.0)
    flips.record_patch("b", ["x"], 1.0)
    flips.record_patch("a", ["x"], WINDOW / 2)
    flips.record_patch("c", ["x"], WINDOW + 2)
    assert flips._patched.keys() == {"a", "c"}
    assert not flips.is_flipping("a", WINDOW + 2)
