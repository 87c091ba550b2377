import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.kube.kube_errors import Garbled
from bridge.kube.listwatch import LineSplitter

TEXT = st.binary().map(lambda text: text.replace(b"\n", b" "))


@given(lines=st.lists(TEXT), cuts=st.lists(st.integers(min_value=0, max_value=200)))
def test_lines_do_not_depend_on_where_the_pieces_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    splitter = LineSplitter()
    found = [line for start, end in itertools.pairwise(places) for line in splitter.feed(stream[start:end])]
    assert found == [line for line in lines if line.strip()]


@given(begun=TEXT)
def test_a_line_without_an_end_is_kept_back(begun: bytes) -> None:
    splitter = LineSplitter()
    assert splitter.feed(begun) == []
    assert splitter.feed(b"!\n") == [begun + b"!"]


def test_a_line_of_many_pieces_is_one_line() -> None:
    splitter = LineSplitter()
    assert [line for _ in range(1000) for line in splitter.feed(b"x" * 1000)] == []
    assert [len(line) for line in splitter.feed(b"\n")] == [1_000_000]


def test_a_line_that_does_not_end_is_refused_before_it_fills_the_memory() -> None:
    splitter = LineSplitter(longest=10_000)
    splitter.feed(b"x" * 10_000)
    with pytest.raises(Garbled, match="more than 10000 bytes"):
        splitter.feed(b"x")


def test_many_lines_may_have_more_bytes_than_one() -> None:
    splitter = LineSplitter(longest=10_000)
    assert sum(len(splitter.feed(b"x" * 900 + b"\n" + b"y" * 90)) for _ in range(100)) == 100
