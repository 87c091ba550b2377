"""A bridge's traces taken back: what is left of a status, and what the patches say."""

from typing import Any

from bridge.remediator.plan import describe, plan_removal, without_nulls

MARK = {"type": "example.com/HuePolicyAffected", "status": "True"}
THEIRS = {"type": "Ready", "status": "True"}


def obj(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "annotations": {"a": "1", "b": "2"}}, "status": status}


def test_an_object_without_traces_is_left_alone() -> None:
    assert plan_removal(obj(conditions=[MARK]), {}) == []
    assert plan_removal({"metadata": {"name": "x"}}, {"types": [MARK["type"]], "annotations": ["a"]}) == []


def test_others_conditions_stay_and_a_status_that_was_a_bridges_alone_goes() -> None:
    traces = {"types": [MARK["type"]]}
    assert plan_removal(obj(conditions=[THEIRS, MARK]), traces) == [{"status": {"conditions": [THEIRS]}}]
    assert plan_removal(obj(conditions=[MARK]), traces) == [{"status": None}]
    beside = obj(conditions=[MARK], phase="Active")
    assert plan_removal(beside, traces) == [{"status": {"conditions": None}}]
    assert without_nulls({"status": {"conditions": None}}) == {"status": {"conditions": []}}


def test_entries_of_other_controllers_stay() -> None:
    mine, other = (
        {"controllerName": "a.io/us", "conditions": [MARK]},
        {"controllerName": "a.io/other", "conditions": []},
    )
    traces = {"types": [MARK["type"]], "parents": ["a.io/us"]}
    assert plan_removal(obj(parents=[mine, other]), traces) == [{"status": {"parents": [other]}}]
    assert plan_removal(obj(ancestors=[other, mine]), {"ancestors": ["a.io/us"]}) == [
        {"status": {"ancestors": [other]}}
    ]
    # Another client has written a condition into the entry, so it owns the entry too.
    shared = {"controllerName": "a.io/us", "conditions": [MARK, THEIRS]}
    left = {"controllerName": "a.io/us", "conditions": [THEIRS]}
    assert plan_removal(obj(parents=[shared]), traces) == [{"status": {"parents": [left]}}]


def test_marks_of_listeners_go_and_the_listeners_stay() -> None:
    shown = {"name": "http", "conditions": [THEIRS, MARK]}
    assert plan_removal(obj(listeners=[shown]), {"types": [MARK["type"]]}) == [
        {"status": {"listeners": [{"name": "http", "conditions": [THEIRS]}]}}
    ]


def test_annotations_go_in_a_patch_of_their_own() -> None:
    patches = plan_removal(obj(conditions=[MARK]), {"types": [MARK["type"]], "annotations": ["a", "gone"]})
    assert patches == [{"status": None}, {"metadata": {"annotations": {"a": None}}}]


def test_the_status_of_the_bridges_own_kinds_goes_whole() -> None:
    assert plan_removal(obj(conditions=[THEIRS], problems=[1]), {"status": [True]}) == [{"status": None}]


def test_traces_are_described() -> None:
    traces: dict[str, list[Any]] = {
        "conditions": ["Programmed", "Accepted"],
        "webhooks": [{"index": 0, "fields": ["caBundle"]}],
    }
    assert describe(traces) == ["conditions Accepted, Programmed", "caBundle"]
