from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridge.remediator.plan import (
    patched,
    plan_affected,
    plan_ancestors,
    plan_conditions,
    plan_policy,
)

THEN, NOW = "2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"
US = "example.com/us"


def condition(name: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return {"type": name, "status": status, "reason": "R", "message": "m", "observedGeneration": 1, **more}


def shown(name: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return condition(name, status, lastTransitionTime=THEN, **more)


def ancestor(name: str, *conditions: dict[str, Any], controller: str = US) -> dict[str, Any]:
    return {"ancestorRef": {"kind": "Gateway", "name": name}, "controllerName": controller, "conditions": [*conditions]}


def test_a_shown_status_is_not_written_again() -> None:
    assert plan_conditions([shown("A"), shown("Theirs")], [condition("A")], ["A"], NOW) is None


def test_a_new_condition_gets_the_time_and_stands_last() -> None:
    planned = plan_conditions([shown("Theirs")], [condition("A")], ["A"], NOW)
    assert planned == [shown("Theirs"), condition("A", lastTransitionTime=NOW)]


def test_a_changed_status_gets_the_time_in_its_place() -> None:
    planned = plan_conditions([shown("A"), shown("Theirs")], [condition("A", "False")], ["A"], NOW)
    assert planned == [condition("A", "False", lastTransitionTime=NOW), shown("Theirs")]


def test_another_message_reason_or_generation_keeps_the_time() -> None:
    for change in ({"message": "n"}, {"reason": "S"}, {"observedGeneration": 2}):
        planned = plan_conditions([shown("A")], [condition("A", **change)], ["A"], NOW)
        assert planned == [shown("A", **change)]


def test_a_condition_of_ours_that_is_untrue_goes_and_others_stay() -> None:
    assert plan_conditions([shown("A"), shown("B"), shown("Theirs")], [condition("B")], ["A", "B"], NOW) == [
        shown("B"),
        shown("Theirs"),
    ]


def test_of_two_conditions_of_one_type_one_stays() -> None:
    assert plan_conditions([shown("A"), shown("A")], [condition("A")], ["A"], NOW) == [shown("A")]


def test_values_that_are_no_conditions_are_left_alone() -> None:
    odd = [None, "text", {"type": 3}, {}]
    assert plan_conditions(odd, [condition("A")], ["A"], NOW) == [*odd, condition("A", lastTransitionTime=NOW)]


def test_a_condition_without_a_time_gets_one_with_the_next_change() -> None:
    assert plan_conditions([condition("A")], [condition("A", message="n")], [], NOW) == [
        condition("A", message="n", lastTransitionTime=NOW)
    ]


def test_ancestors_of_others_stay_untouched_and_in_their_place() -> None:
    theirs = [ancestor("g", shown("X"), controller="they"), ancestor("h", controller="them"), {"odd": 1}, None]
    before = [theirs[0], ancestor("g", shown("A")), theirs[1], ancestor("gone", shown("A")), *theirs[2:]]
    wanted = [ancestor("new", condition("A")), ancestor("g", condition("A", "False"))]
    planned = plan_ancestors(before, wanted, [US], NOW)
    assert planned == [
        theirs[0],
        ancestor("g", condition("A", "False", lastTransitionTime=NOW)),
        theirs[1],
        *theirs[2:],
        ancestor("new", condition("A", lastTransitionTime=NOW)),
    ]


def test_ancestors_that_are_shown_in_another_order_are_not_written() -> None:
    before = [ancestor("h", shown("A")), ancestor("g", shown("A"))]
    assert plan_ancestors(before, [ancestor("g", condition("A")), ancestor("h", condition("A"))], [US], NOW) is None


def test_an_ancestors_conditions_are_all_ours() -> None:
    before = [ancestor("g", shown("A"), shown("B"))]
    assert plan_ancestors(before, [ancestor("g", condition("A"))], [US], NOW) == [ancestor("g", shown("A"))]


def test_a_policy_has_conditions_or_ancestors() -> None:
    wanted = {"conditions": [condition("Accepted", "False")], "controllerName": US, "types": ["Accepted", "Programmed"]}
    seen = {"status": {"conditions": [shown("Programmed"), shown("Theirs")], "ancestors": "odd"}}
    said = condition("Accepted", "False", lastTransitionTime=NOW)
    assert plan_policy(seen, wanted, NOW) == {"status": {"conditions": [shown("Theirs"), said]}}
    ancestors = {"ancestors": [ancestor("g")], "controllerName": US}
    assert plan_policy(seen, ancestors, NOW) == {"status": {"ancestors": [ancestor("g")]}}
    assert plan_policy({"status": {"ancestors": [ancestor("g")]}}, ancestors, NOW) is None


def test_of_a_policy_that_kept_its_status_by_ancestor_our_entries_go() -> None:
    wanted = {"conditions": [condition("Accepted")], "controllerName": US, "types": ["Accepted"]}
    theirs = ancestor("g", shown("X"), controller="they")
    seen = {"status": {"conditions": [shown("Accepted")], "ancestors": [ancestor("g", shown("A")), theirs]}}
    assert plan_policy(seen, wanted, NOW) == {"status": {"ancestors": [theirs]}}


def test_entries_under_a_former_name_of_the_kind_are_ours() -> None:
    wanted = {"ancestors": [ancestor("g", condition("A"))], "controllerName": US, "former": ["x/us-before"]}
    theirs = ancestor("g", shown("X"), controller="they")
    before = [ancestor(name, shown("A"), controller="x/us-before") for name in ("gone", "g")]
    seen = {"status": {"ancestors": [*before, theirs]}}
    assert plan_policy(seen, wanted, NOW) == {"status": {"ancestors": [ancestor("g", shown("A")), theirs]}}


OURS = ["x/PAffected"]
MARK = "x/PAffected"


def affected(**parts: Any) -> dict[str, Any]:
    return {"types": OURS, "controllers": [US], **parts}


def seen(**status: Any) -> dict[str, Any]:
    return {"status": status, "annotations": {}}


def test_an_affected_object_loses_the_types_that_are_ours() -> None:
    for wanted in (affected(conditions=[]), affected()):
        planned = plan_affected(seen(conditions=[shown(MARK)]), wanted, NOW)
        assert planned == {"status": {"conditions": []}}
        assert plan_affected(seen(conditions=[shown("Theirs")]), wanted, NOW) is None
        assert plan_affected(seen(), wanted, NOW) is None


def test_a_listener_gets_a_condition_and_keeps_all_else() -> None:
    listeners: list[Any] = [
        {"name": "a", "attachedRoutes": 2, "conditions": [shown("Accepted")]},
        {"name": "b", "conditions": [shown(MARK)]},
        {"name": 3},
        "odd",
    ]
    planned = plan_affected(seen(listeners=listeners), affected(listeners={"a": [condition(MARK)], "c": []}), NOW)
    marked = [shown("Accepted"), condition(MARK, lastTransitionTime=NOW)]
    after = [{**listeners[0], "conditions": marked}, {"name": "b", "conditions": []}, *listeners[2:]]
    assert planned == {"status": {"listeners": after}}
    assert plan_affected(seen(listeners=after), affected(listeners={"a": [condition(MARK)]}), NOW) is None


def parent(name: str, *conditions: dict[str, Any], controller: str = US) -> dict[str, Any]:
    return {"parentRef": {"name": name}, "controllerName": controller, "conditions": [*conditions]}


def test_a_route_gets_an_entry_of_ours_beside_those_of_others() -> None:
    before = [parent("g", shown("Accepted"), controller="they"), "odd", parent("g", shown("Accepted"))]
    planned = plan_affected(
        seen(parents=before), affected(parents=[parent("g", condition(MARK)), parent("h", condition(MARK))]), NOW
    )
    mark = condition(MARK, lastTransitionTime=NOW)
    after = [*before[:2], parent("g", shown("Accepted"), mark), parent("h", mark)]
    assert planned == {"status": {"parents": after}}


def test_an_entry_of_a_route_goes_with_its_last_condition_and_only_if_it_is_ours() -> None:
    before = [
        parent("g", shown(MARK), controller="they"),
        parent("g", shown(MARK)),
        parent("h", shown("Accepted"), shown(MARK)),
        parent("i"),
    ]
    planned = plan_affected(seen(parents=before), affected(parents=[]), NOW)
    assert planned == {"status": {"parents": [before[0], parent("h", shown("Accepted")), before[3]]}}


def test_annotations_are_set_and_taken_away_once_the_status_is_as_it_should_be() -> None:
    wanted = affected(annotations={MARK: "true"}) | {"types": [MARK, "x/QAffected"]}
    shows = {"status": {"conditions": [shown(MARK)]}, "annotations": {"x/QAffected": "true", "theirs": "1"}}
    assert plan_affected(shows, wanted, NOW) == {"status": {"conditions": []}}
    shows["status"] = {}
    patch = plan_affected(shows, wanted, NOW)
    assert patch == {"metadata": {"annotations": {MARK: "true", "x/QAffected": None}}}
    obj = {"metadata": {"name": "n", "annotations": shows["annotations"]}}
    assert patched(obj, patch) == {"metadata": {"name": "n", "annotations": {"theirs": "1", MARK: "true"}}}
    assert plan_affected({"status": {}, "annotations": {MARK: "true"}}, wanted, NOW) is None


def test_an_object_with_a_planned_status_keeps_the_rest_of_it() -> None:
    assert patched({"a": 1, "status": {"x": 1}}, {"status": {"y": 2}}) == {"a": 1, "status": {"x": 1, "y": 2}}
    assert patched({"a": 1, "status": None}, {"status": {"y": 2}}) == {"a": 1, "status": {"y": 2}}
    assert patched({"a": 1}, None) == {"a": 1}


CONDITIONS = st.lists(
    st.builds(condition, st.sampled_from("ABCD"), st.sampled_from(["True", "False"]), message=st.sampled_from("mn")),
    unique_by=lambda one: str(one["type"]),
)


@given(CONDITIONS, CONDITIONS, CONDITIONS)
def test_planning_twice_writes_once(first: list[Any], second: list[Any], third: list[Any]) -> None:
    before = [{**one, "lastTransitionTime": THEN} for one in first]
    ours = ["A", "B"]
    wanted = [one for one in second if one["type"] in ours]
    planned = plan_conditions(before, wanted, ours, NOW)
    now = before if planned is None else planned
    assert plan_conditions(now, wanted, ours, "later") is None
    bare = [{name: value for name, value in one.items() if name != "lastTransitionTime"} for one in now]
    assert {one["type"]: one for one in bare} == {
        **{one["type"]: one for one in first if one["type"] not in ours},
        **{one["type"]: one for one in wanted},
    }
    entries = [ancestor("g", *before), ancestor("h", *first, controller="they")]
    goal = [ancestor("g", *second), ancestor("i", *third)]
    merged = plan_ancestors(entries, goal, [US], NOW)
    assert plan_ancestors(entries if merged is None else merged, goal, [US], "later") is None
