"""How answers are shown: tables for people, JSON and YAML for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from bridge.cli.plain import tell
from bridge.cli.printers.documents import print_document
from bridge.cli.printers.table import Table, print_tables

_Answer = TypeVar("_Answer")


def print_answer(
    output: str,
    answer: _Answer,
    tables: Callable[[_Answer, bool], Sequence[Table | str]],
    nothing: str,
    document: Callable[[_Answer], Any] = lambda answer: answer,
) -> None:
    """Print an answer on standard output in the format `output`.

    `tables` makes tables of it, with titles between them (given whether they may be wide), `document` what JSON and
    YAML show. An answer without rows is told as `nothing`, on standard error, as kubectl does.
    """
    if output in {"json", "yaml"}:
        print_document(output, document(answer))
        return
    made = [block for block in tables(answer, output == "wide") if isinstance(block, str) or block.rows]
    if made:
        print_tables(made)
    else:
        nothing_found(nothing)


def nothing_found(nothing: str) -> None:
    """Say that there are no rows, on standard error, as kubectl does."""
    tell(nothing)
