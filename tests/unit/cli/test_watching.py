"""Which rows `--watch` prints."""

import io
import sys
from collections.abc import Sequence

import pytest

from bridge.cli.source import Input
from bridge.cli.table import Table
from bridge.cli.watching import Repeated, Watched, check_watch
from bridge.queries.names import CommandError

COLUMNS = ["NAME", "STATE", "AGE"]


def _printed(monkeypatch: pytest.MonkeyPatch, before: list[Sequence[str]], after: list[Sequence[str]]) -> list[str]:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    Watched([Table(COLUMNS, before)]).show([Table(COLUMNS, after)])
    return written.getvalue().splitlines()


def test_rows_that_differ_are_printed_below_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    before: list[Sequence[str]] = [["a-long-name", "good", "1s"], ["b", "good", "1s"]]
    assert _printed(monkeypatch, before, [["a-long-name", "good", "2s"], ["b", "bad", "2s"], ["c", "good", "0s"]]) == [
        "b             bad     2s",
        "c             good    0s",
    ]


def test_a_deleted_row_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _printed(monkeypatch, [["a", "good", "1s"]], []) == ["a      <gone>"]


def test_age_alone_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _printed(monkeypatch, [["a", "good", "1s"]], [["a", "good", "9s"]]) == []


def test_a_first_row_comes_with_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _printed(monkeypatch, [], [["a", "good", "1s"]]) == ["NAME   STATE   AGE", "a      good    1s"]


@pytest.mark.parametrize(
    ("source", "output"), [(Input(), "json"), (Input(), "name"), (Input(manifests=("-",)), "table")]
)
def test_unwatchable_types_are_reported(source: Input, output: str) -> None:
    with pytest.raises(CommandError, match="watch"):
        check_watch(source, output)


def test_blocks_that_belong_together_are_printed_again_only_when_one_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    blocks: list[Table | str] = ["a title", Table(COLUMNS, [["a", "good", "1s"]])]
    repeated = Repeated(blocks, "nothing")
    repeated.show(["a title", Table(COLUMNS, [["a", "good", "1s"]])])
    assert written.getvalue() == ""
    repeated.show(["a title", Table(COLUMNS, [["a", "bad", "1s"]])])
    assert written.getvalue() == "\na title\n\nNAME   STATE   AGE\na      bad     1s\n"
