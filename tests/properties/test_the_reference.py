"""The reference against the text that it is made of: the closed form of F2, the RFC's own table, F2's example."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.stacks import STRATEGIES, Entry, objects_of
from tests.reference.answers import answer
from tests.reference.cluster_objects import Node
from tests.reference.folding import Order, join
from tests.reference.merging import Leaf, annotate, apply, plain

Object = dict[str, Any]
POLICY = Node("g", "K", "-", "p")
APPENDIX: tuple[
    tuple[Object, Object, Object], ...
] = (  # RFC 7386, Appendix A, without what is not an object at the root: specs proper are objects
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"a": 1}),  # the RFC keeps a null of the original; here it is a tombstone (F3)
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
)


def in_closed_form(strategies: list[str]) -> list[int]:
    """F2: the order of precedence, lowest first, of policies by their index in the F1 order."""
    overriding = [index for index, strategy in enumerate(strategies) if strategy == "AtomicOverrides"]
    k = overriding[0] if overriding else len(strategies) - 1
    defaults = [index for index in range(k) if strategies[index] == "PatchDefaults"]
    overrides = [index for index in range(k) if strategies[index] == "PatchOverrides"]
    return [*defaults, k, *reversed(overrides)]


@given(st.lists(st.sampled_from(STRATEGIES), min_size=1, max_size=8))
def test_order_from_the_bottom_up_has_the_closed_form_of_the_text(strategies: list[str]) -> None:
    specs = [Leaf(index, ()) for index in range(len(strategies))]
    order: Order = [specs[-1]]
    for strategy, spec in zip(reversed(strategies[:-1]), reversed(specs[:-1]), strict=True):
        order = join(strategy, [spec], order, "")
    assert order == [specs[index] for index in in_closed_form(strategies)]


@pytest.mark.parametrize(("target", "patch", "result"), APPENDIX)
def test_patch_follows_the_appendix_of_rfc_7386(target: Object, patch: Object, result: Object) -> None:
    assert plain(apply(annotate(patch, POLICY, {}), annotate(target, POLICY, {}))) == result


@pytest.mark.parametrize("middle", [None, 5, []])
def test_value_in_the_middle_removes_values_below_permanently(middle: Any) -> None:
    specs = ({"a": {"b": 1}}, {"a": middle}, {"a": {"c": 2}})
    stack = [Entry(level, "PatchDefaults", spec) for level, spec in enumerate(specs)]
    [path] = [path for (source, _, _), path in answer(objects_of(stack, {})).effective.items() if not source]
    assert path["spec"] == {"a": {"c": 2}}
    assert [entry["outcome"] for entry in path["policies"]] == ["Overridden", "Overridden", "Programmed"]
