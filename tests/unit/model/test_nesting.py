import inspect
import json
import sys
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.model.nesting import NestingError, cut, decode, exceeds, has_more_values

BEYOND_PYTHON = 20_000  # levels that a decoder in Python refuses
TEXTS = st.text(st.sampled_from('ab[{]}",:\\\n\x00é'), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=20,
)


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def depth_of(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth_of, value.values() if isinstance(value, dict) else value), default=0)


@given(VALUES, st.integers(0, 8), st.booleans())
def test_depth_is_that_of_the_decoded_value(value: Any, most: int, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert exceeds(text, most) == (depth_of(value) > most)
    assert exceeds(msgspec.json.encode(value), most) == (depth_of(value) > most)


def values_in(value: Any) -> int:
    """How many fields and items a value has at all levels; an empty mapping or list counts once more."""
    if not isinstance(value, dict | list):
        return 0
    inner = list(value.values() if isinstance(value, dict) else value)
    return max(len(inner), 1) + sum(map(values_in, inner))


@given(VALUES, st.integers(0, 8))
def test_values_are_those_of_the_decoded_value(value: Any, most: int) -> None:
    assert has_more_values(msgspec.json.encode(value), most) == (values_in(value) > most)


@given(VALUES, st.integers(0, 8))
def test_cut_replaces_by_null_exactly_the_values_that_are_too_deep(value: Any, most: int) -> None:
    def without(inner: Any, left: int) -> Any:
        if not isinstance(inner, dict | list):
            return inner
        if not left:
            return None
        if isinstance(inner, list):
            return [without(item, left - 1) for item in inner]
        return {name: without(item, left - 1) for name, item in inner.items()}

    assert msgspec.json.decode(cut(msgspec.json.encode(value), most)) == without(value, most)


@pytest.mark.parametrize("depth", [199, 200, 201, 970, 9_000, BEYOND_PYTHON])
def test_bound_is_exact_at_any_depth(depth: int) -> None:
    assert exceeds(nested(depth), 200) == (depth > 200)
    assert depth_of(msgspec.json.decode(cut(nested(depth), 200))) == min(depth, 200)


def test_brackets_within_texts_do_not_count() -> None:
    assert not exceeds(json.dumps({"a": "[" * 300, "b": '"' + "{" * 300, "c": "\\" + "[" * 300}).encode(), 200)


def test_brackets_within_texts_hide_no_depth() -> None:
    assert exceeds(b'["]]]]]},{},{",' * 201 + b"1" + b"]" * 201, 200)


def test_depth_that_python_cannot_decode_is_an_error_of_decoding() -> None:
    with pytest.raises(NestingError):
        decode(nested(BEYOND_PYTHON))
    with pytest.raises(NestingError, match="more than 200 levels"):
        decode(nested(201), most=200)
    assert depth_of(decode(nested(200), most=200)) == 200


@pytest.mark.parametrize("text", [b"", b"{", b'"\xff"', b'{"\xff":1}', b"1e400", b'"\\ud800"'])
def test_whatever_cannot_be_decoded_is_an_error_of_decoding(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(text)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 1_500_000,
        b'{"a":' * 300_000,
        b'{"a":' * 199 + b",".join([b"[" * 199 + b"]" * 199] * 3_700) + b"}" * 199,
        b'["' + b'\\"[' * 500_000 + b'"]',
    ],
    ids=["deep", "deep mappings", "wide and nearly too deep", "one text"],
)
def test_largest_object_of_an_api_server_is_judged_in_a_fraction_of_a_second(text: bytes) -> None:
    began = time.thread_time()
    exceeds(text, 200)
    cut(text, 200)
    assert time.thread_time() - began < 1


def test_nothing_recurses() -> None:
    used = len(inspect.stack(0))
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(used + 30)
    try:
        assert exceeds(nested(9_000), 200)
        assert len(cut(nested(9_000), 200)) < 2_000
    finally:
        sys.setrecursionlimit(before)
