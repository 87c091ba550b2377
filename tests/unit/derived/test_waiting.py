"""Which changes are asked about together, and when it is a namespace's turn."""

from collections.abc import Iterable
from typing import Any

import pytest

from bridge.derived.loop import FEW, KEYS, Question, WaitingChanges
from bridge.model.changes import Notice
from bridge.model.keys import Key, parse_key

pytestmark = pytest.mark.fake_time


def key(name: str) -> Key:
    """The key of a Service, `namespace/name`."""
    return parse_key(f"core/Service/{name}")


def keys(namespace: str, count: int) -> list[Key]:
    """The keys of so many Services."""
    return [key(f"{namespace}/{number}") for number in range(count)]


def waiting(*changes: Iterable[Key], **more: Any) -> WaitingChanges:
    """These changes, numbered from 1."""
    found = WaitingChanges()
    for number, change in enumerate(changes, 1):
        found.add(Notice(tuple(change), **more), number)
    return found


def taken(changes: WaitingChanges) -> list[Question]:
    """All questions in turn."""
    return list(iter(changes.take, None))


def sizes(questions: Iterable[Question]) -> list[tuple[str, int]]:
    """The namespaces of each, and the number of its objects."""
    return [(" ".join(sorted(one.namespaces)), len(one.change.keys)) for one in questions]


async def test_nothing_waits_at_first() -> None:
    changes = waiting()
    assert (bool(changes), changes.first_revision, changes.take()) == (False, None, None)


async def test_changes_of_few_objects_in_several_namespaces_are_one_question() -> None:
    changes = waiting(keys("a", 2), keys("b", FEW - 2))
    assert bool(changes)
    assert sizes(taken(changes)) == [("a b", FEW)]
    assert sizes(taken(waiting(keys("a", FEW - 1), keys("b", 1)))) == [("a b", FEW)]


async def test_changes_of_more_than_a_few_objects_are_a_question_for_each_namespace() -> None:
    assert sizes(taken(waiting(keys("a", 2), keys("b", FEW - 1)))) == [("a", 2), ("b", FEW - 1)]


async def test_a_namespace_that_does_not_fit_lets_a_later_one_pass() -> None:
    changes = waiting(keys("a", 60), keys("b", 60), keys("c", 30), keys("d", 11), keys("e", 10))
    assert sizes(taken(changes)) == [("a c e", 100), ("b d", 71)]


async def test_nothing_else_joins_a_namespace_that_fills_the_question() -> None:
    changes = waiting(keys("a", FEW), ())
    assert sizes(taken(changes)) == [("a", FEW), ("", 0)]


async def test_a_namespace_has_a_bounded_number_of_objects_in_a_question() -> None:
    few = [[key(f"a/{number}-{part}") for part in range(100)] for number in range(6)]
    assert sizes(taken(waiting(*few))) == [("a", KEYS), ("a", 100)]
    assert sizes(taken(waiting(keys("a", KEYS - 1), [key("a/x"), key("a/y")]))) == [("a", KEYS - 1), ("a", 2)]


async def test_a_change_of_more_objects_than_the_bound_is_a_question_by_itself() -> None:
    assert sizes(taken(waiting(keys("a", KEYS + 1), [key("a/x")]))) == [("a", KEYS + 1), ("a", 1)]


async def test_a_namespace_with_more_changes_waits_for_the_others() -> None:
    changes = waiting(keys("many", KEYS), [key("many/x")], keys("few", 1))
    assert sizes(taken(changes)) == [("many", KEYS), ("few many", 2)]


async def test_a_change_of_several_namespaces_waits_in_each() -> None:
    changes = waiting([key("a/x"), key("b/x"), key("a/y")])
    found = changes.take()
    assert found is not None
    assert found.change.keys == (key("a/x"), key("a/y"), key("b/x"))


async def test_a_change_of_two_namespaces_keeps_the_former_paths_and_reports_of_each() -> None:
    was = {key("a/x"): (("parents", "p"),), key("b/y"): (("parents", "q"),)}
    changes = WaitingChanges()
    changes.add(Notice((key("a/x"), key("a/z"), key("b/y")), (key("b/r"),), was), 1)
    changes.put_back(_required(changes), apart=True)
    of_b, of_a = _required(changes), _required(changes)
    assert (of_a.change.keys, of_a.change.reported) == ((key("a/x"), key("a/z")), ())
    assert of_a.change.was == {key("a/x"): (("parents", "p"),)}
    assert (of_b.change.keys, of_b.change.reported) == ((key("b/y"),), (key("b/r"),))
    assert of_b.change.was == {key("b/y"): (("parents", "q"),)}


async def test_reports_without_changed_declarations_wait_in_their_namespaces() -> None:
    changes = WaitingChanges()
    changes.add(Notice(reported=(key("a/x"), key("b/y"))), 1)
    found = _required(changes)
    assert found.change.reported == (key("a/x"), key("b/y"))
    assert found.namespaces == {"a", "b"}


async def test_a_change_of_policy_kinds_takes_all_others_along() -> None:
    changes = waiting(keys("a", KEYS), keys("a", KEYS), keys("b", 3))
    changes.add(Notice(kinds=True), 4)
    [found] = taken(changes)
    assert (found.change.kinds, found.revision, found.namespaces) == (True, 1, frozenset(["a", "b", ""]))
    assert len(found.change.keys) == KEYS + 3
    assert not changes


async def test_changes_that_are_put_back_come_before_later_ones_of_their_namespace() -> None:
    changes = waiting([key("a/1")])
    first = _required(changes)
    changes.add(Notice((key("a/2"),)), 2)
    assert changes.first_revision == 2
    changes.put_back(first)
    assert changes.first_revision == 1
    assert _required(changes).change.keys == (key("a/1"), key("a/2"))


async def test_namespaces_that_are_put_back_apart_come_first_and_each_alone_once() -> None:
    changes = waiting([key("a/1"), key("b/1")])
    both = _required(changes)
    changes.add(Notice((key("c/1"),)), 2)
    changes.put_back(both, apart=True)
    assert sizes(taken(changes)) == [("b", 1), ("a", 1), ("c", 1)]
    changes.put_back(both)
    assert sizes(taken(changes)) == [("a b", 2)]


async def test_a_namespace_apart_is_not_taken_along() -> None:
    changes = waiting([key("a/1"), key("b/1")])
    changes.put_back(_required(changes), apart=True)
    changes.add(Notice((key("c/1"),)), 2)
    _required(changes)  # b
    _required(changes)  # a
    changes.put_back(Question(Notice((key("d/1"),)), frozenset("d"), 0.0, 3), apart=True)
    changes.put_back(Question(Notice((key("c/0"),)), frozenset("c"), 0.0, 3))
    assert sizes(taken(changes)) == [("d", 1), ("c", 2)]


async def test_dropped_changes_leave_no_mark_on_their_namespaces() -> None:
    changes = waiting([key("a/1"), key("b/1")])
    changes.put_back(_required(changes), apart=True)
    changes.clear()
    assert not changes
    changes.add(Notice((key("a/1"), key("b/1"))), 2)
    assert sizes(taken(changes)) == [("a b", 2)]


async def test_a_question_about_one_object_again_has_its_former_paths_and_another_number() -> None:
    was = {key("a/x"): (("parents", "p"),)}
    question = Question(Notice((key("a/x"), key("b/y")), (key("a/r"),), was), frozenset("ab"), 1.5, 3)
    again = question.about(key("a/x"), 7)
    assert again.again
    assert not question.again
    assert (again.change.keys, again.change.reported, again.change.was) == ((key("a/x"),), (), was)
    assert (again.namespaces, again.since, again.revision) == (frozenset("a"), 1.5, 7)


def _required(changes: WaitingChanges) -> Question:
    found = changes.take()
    assert found is not None
    return found
