from collections import Counter, defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridge.remediator.outcomes import EXAMPLES, Dirty, Ledger

KINDS = st.sampled_from(["x/P", "x/Q"])
TARGETS = st.sampled_from(["g/R/n/a", "g/R/n/a#r", "g/R/n/a#s", "g/R/n/b", "g/R/n/b#r"])
MARKS = st.sampled_from([["g/R/n/a", ""], ["g/R/n/a", "p"], ["g/R/n/b", ""], ["g/S/n/c", ""]])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "policy": st.sampled_from(["x/P/n/1", "x/P/n/2", "x/Q/n/1"]),
            "ancestor": st.sampled_from(["", "g"]),
            "outcome": st.sampled_from(["Programmed", "Overridden"]),
            "by": st.sampled_from([[], ["n/2 (Atomic Overrides)"]]),
            "scopes": st.lists(st.sampled_from(["s1", "s2", "s3", "s4", "s5"]), min_size=1, max_size=5),
            "targets": st.sampled_from([["t"], ["t", "u"]]),
            "marks": st.lists(MARKS, max_size=2, unique_by=tuple),
        }
    ),
    max_size=6,
)
STEPS = st.lists(st.one_of(st.tuples(KINDS, TARGETS, ROWS), st.tuples(KINDS, st.just(""), st.just([]))), max_size=25)


@given(STEPS)
def test_counts_and_marks_equal_a_recount_and_a_client_that_changed_is_named(
    steps: list[tuple[str, str, list[dict[str, Any]]]],
) -> None:
    ledger = Ledger()
    model: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for kind, target, rows in steps:
        before = _all_counts(model), _all_acting(model)
        if target:
            dirty = ledger.replace(kind, target, map(_as_read, rows))
            model[kind, target] = rows
        else:
            dirty = ledger.drop(kind)
            model = {place: rows for place, rows in model.items() if place[0] != kind}
        after = _all_counts(model), _all_acting(model)
        assert _differing(before[0], after[0]) <= dirty.policies
        assert _differing(before[1], after[1]) == dirty.objects
        assert ledger.objects() == after[1].keys()
        for policy in ("x/P/n/1", "x/P/n/2", "x/Q/n/1"):
            assert ledger.tallies(policy) == after[0].get(policy, [])
        for name in ("g/R/n/a", "g/R/n/b", "g/S/n/c"):
            assert ledger.marks_on(name) == after[1].get(name, {})
            assert set(ledger.targets_of(name)) == {
                place for place, rows in model.items() if rows and place[1].partition("#")[0] == name
            }
        assert len(ledger) == sum(bool(rows) for rows in model.values())
    ledger.clear()
    assert len(ledger) == 0
    assert ledger.tallies("x/P/n/1") == []
    assert ledger.objects() == set()


@given(STEPS, st.sets(st.tuples(KINDS, TARGETS)))
def test_tallies_without_targets_equal_those_of_a_ledger_without_them(
    steps: list[tuple[str, str, list[dict[str, Any]]]], left_out: set[tuple[str, str]]
) -> None:
    ledger, without = Ledger(), Ledger()
    for kind, target, rows in steps:
        ledger.replace(kind, target, map(_as_read, rows))
        if (kind, target) not in left_out:
            without.replace(kind, target, map(_as_read, rows))
    policies = {policy for kind, target in left_out for policy in ledger.policies_at(kind, target)}
    assert ledger.tallies_without(left_out) == {policy: without.tallies(policy) for policy in policies}


def _differing(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _all_counts(model: dict[tuple[str, str], list[dict[str, Any]]]) -> dict[str, Any]:
    groups: defaultdict[str, defaultdict[Any, list[str]]] = defaultdict(lambda: defaultdict(list))
    for rows in model.values():
        for row in rows:
            group = row["ancestor"], tuple(row["targets"]), row["outcome"], tuple(row["by"])
            groups[row["policy"]][group] += row["scopes"]
    return {
        policy: [
            {
                "ancestor": ancestor,
                "targets": list(targets),
                "outcome": outcome,
                "by": list(by),
                "count": len(scopes),
                "examples": sorted(scopes)[:EXAMPLES],
            }
            for (ancestor, targets, outcome, by), scopes in sorted(found.items())
        ]
        for policy, found in groups.items()
    }


def _all_acting(model: dict[tuple[str, str], list[dict[str, Any]]]) -> dict[str, Any]:
    found: defaultdict[str, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    for (kind, _), rows in model.items():
        for row in rows:
            for name, place in row["marks"]:
                found[name][kind][place].add(row["policy"])
    return {
        name: {kind: {place: sorted(those) for place, those in places.items()} for kind, places in kinds.items()}
        for name, kinds in found.items()
    }


def _as_read(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the query `outcomes` returns it: the number of its paths, and the names of the first."""
    scopes = row["scopes"]
    return {name: value for name, value in row.items() if name != "scopes"} | {
        "count": len(scopes),
        "examples": sorted(scopes)[:EXAMPLES],
    }


def _row(*scopes: str) -> dict[str, Any]:
    group = {"policy": "x/P/n/1", "targets": [], "ancestor": "", "outcome": "Programmed", "by": []}
    return _as_read({**group, "scopes": scopes or ["s"], "marks": [["g/R/n/a", ""]]})


def test_unreported_ancestors_are_kept_until_they_are_reported_or_the_kind_is_removed() -> None:
    ledger = Ledger()
    assert ledger.report("x/P", "x/P/n/1", [["g/R/n/a", ""], ["g/R/n/b", "l"]]) == Dirty(objects={"g/R/n/a", "g/R/n/b"})
    assert ledger.report("x/P", "x/P/n/1", [["g/R/n/b", "l"]]) == Dirty(objects={"g/R/n/a"})
    assert ledger.report("x/P", "x/P/n/1", [["g/R/n/b", "l"]]) == Dirty()
    assert ledger.unreported("g/R/n/b") == {"x/P": {"l": ["x/P/n/1"]}}
    assert ledger.unreported("g/R/n/a") == {}
    assert ledger.objects() == {"g/R/n/b"}
    assert ledger.drop("x/P") == Dirty(objects={"g/R/n/b"})
    assert ledger.objects() == set()


def test_after_a_clear_the_same_report_is_new_again() -> None:
    ledger = Ledger()
    ledger.report("x/P", "x/P/n/1", [["g/R/n/a", ""]])
    ledger.clear()
    assert ledger.objects() == set()
    assert ledger.report("x/P", "x/P/n/1", [["g/R/n/a", ""]]) == Dirty(objects={"g/R/n/a"})


def test_equal_rows_affect_nothing() -> None:
    ledger = Ledger()
    assert ledger.replace("x/P", "g/R/n/a#r", [_row("1"), _row("2")]) == Dirty({"x/P/n/1"}, {"g/R/n/a"})
    assert ledger.replace("x/P", "g/R/n/a#r", [_row("2"), _row("1")]) == Dirty()


def test_of_two_equal_rows_one_less_concerns_the_policy() -> None:
    ledger = Ledger()
    ledger.replace("x/P", "g/R/n/a", [_row(), _row()])
    assert ledger.replace("x/P", "g/R/n/a", [_row()]).policies == {"x/P/n/1"}


def test_many_equal_outcomes_are_counted_with_three_examples() -> None:
    ledger = Ledger()
    names = [f"scope {number:03}" for number in range(100)]
    for name in reversed(names):
        ledger.replace("x/P", f"g/R/n/{name}", [_row(name)])
    assert Counter(tally["count"] for tally in ledger.tallies("x/P/n/1")) == {100: 1}
    assert ledger.tallies("x/P/n/1")[0]["examples"] == names[:3]
