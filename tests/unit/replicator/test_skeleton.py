import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridge.replicator.documents import Path, Skeleton
from tests.unit.replicator.json_patch import applied

FLOORS = frozenset({("objects",), ("index",), ("index", "parents")})
ROOTS: dict[str, Any] = {"objects": {}, "index": {"parents": {}}}
NAMES = st.sampled_from(["a", "b/c", "~d"])
PATHS = st.one_of(
    st.tuples(st.just("objects"), NAMES, NAMES, NAMES),
    st.tuples(st.just("index"), st.just("parents"), NAMES, NAMES),
    st.tuples(st.just("index"), st.just("free"), NAMES, NAMES),
)
STEPS: st.SearchStrategy[list[tuple[str, Path, Any]]] = st.lists(
    st.one_of(
        st.tuples(st.just("put"), PATHS, st.one_of(st.integers(), st.just({}), st.just({"deep": {}}))),
        st.tuples(st.just("remove"), PATHS, st.none()),
        st.tuples(st.just("plan"), st.just(()), st.none()),
        st.tuples(st.just("begin"), st.just(()), st.none()),
        st.tuples(st.just("refused"), st.just(()), st.none()),
    ),
    max_size=60,
)


@given(STEPS)
def test_any_plans_leave_what_a_model_has_and_no_empty_containers_below_the_floors(
    steps: list[tuple[str, Path, Any]],
) -> None:
    skeleton = Skeleton(FLOORS)
    skeleton.begin(copy.deepcopy(ROOTS))
    document: dict[str, Any] = {"foreign": 1, "objects": {"left": {"over": 1}}}
    model: dict[Path, Any] = {}
    before: dict[Path, Any] | None = None  # the model of the document; None: the next plan begins
    for what, path, value in [*steps, ("plan", (), None)]:
        if what == "put":
            skeleton.put(path, copy.deepcopy(value))
            model[path] = value
        elif what == "remove" and path in model:
            skeleton.remove(path)
            del model[path]
        elif what == "begin":
            skeleton.begin(copy.deepcopy(ROOTS))
            model.clear()
            before = None
        elif what == "refused" and before is not None:
            skeleton.take_plan()
            skeleton.undo()
            model = dict(before)
        elif what == "plan":
            document = applied(document, skeleton.take_plan())
            skeleton.confirm()
            before = dict(model)
            assert document == {"foreign": 1, **_tree(model)}
    assert skeleton.take_plan() == []


def test_all_that_is_new_goes_in_with_one_operation_a_root() -> None:
    skeleton = Skeleton(FLOORS)
    skeleton.begin(copy.deepcopy(ROOTS))
    for number in range(100):
        skeleton.put(("objects", "group", "Kind", str(number)), {})
    assert len(skeleton.take_plan()) == len(ROOTS)


def test_a_new_branch_is_one_operation_and_one_in_an_old_branch_another() -> None:
    skeleton = Skeleton(FLOORS)
    skeleton.begin(copy.deepcopy(ROOTS))
    skeleton.put(("objects", "old", "x"), 1)
    skeleton.take_plan()
    skeleton.put(("objects", "old", "y"), 2)
    skeleton.put(("objects", "new", "x"), 3)
    skeleton.put(("objects", "new", "y"), 4)
    assert [operation["path"] for operation in skeleton.take_plan()] == ["/objects/old/y", "/objects/new"]


def _tree(model: dict[Path, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = copy.deepcopy(ROOTS)
    for path, value in model.items():
        holder = tree
        for name in path[:-1]:
            holder = holder.setdefault(name, {})
        holder[path[-1]] = value
    return tree
