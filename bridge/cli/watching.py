"""`--watch`: print the output of a command, then changed rows, like kubectl."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from bridge.cli.options import Input
from bridge.cli.printers import nothing_found
from bridge.cli.printers.table import Table, print_tables
from bridge.cli.terminal import print_error
from bridge.queries.names import NameNotFoundError

if TYPE_CHECKING:
    from bridge.offline.engine import Engine

_Answer = TypeVar("_Answer")

AWAY_DELAY = 1.0  # seconds before a retry of an unavailable OPA
# Columns that identify a row; a column that grows with time is not a change.
_NAMING = frozenset({"TARGET", "POLICY KIND", "VIA", "POLICY", "KIND", "ANCESTOR", "AFFECTED", "CONDITION"})
_NAMES = frozenset({"NAMESPACE", "NAME", "KIND"})
_PASSING = frozenset({"AGE"})
_GONE = "<gone>"

Row = Sequence[str]


def watch(
    source: Input,
    ask: Callable[[Engine], Awaitable[_Answer]],
    tables: Callable[[_Answer], Sequence[Table | str]],
    nothing: str,
    *,
    types: Sequence[str] = (),
    whole: bool = False,
) -> None:
    """Show the current result of `ask`, then changed rows of its tables, until interrupted.

    With `whole` the blocks belong together (an explanation, a tree): if one differs, all are shown again. `types` are
    read in addition to those that every command needs.
    """
    asyncio.run(_watch(source, ask, tables, nothing, types, whole=whole))


async def _watch(
    source: Input,
    ask: Callable[[Engine], Awaitable[_Answer]],
    tables: Callable[[_Answer], Sequence[Table | str]],
    nothing: str,
    types: Sequence[str],
    *,
    whole: bool,
) -> None:
    from bridge.cli.reading import opened, report_problems
    from bridge.opa.errors import OpaError

    async with opened(source, types, follow=True) as engine:
        blocks = list(tables(await ask(engine)))
        await report_problems(engine)
        watched: Watched | Repeated = Repeated(blocks, nothing) if whole else Watched(_only_tables(blocks))
        if not _print_blocks(blocks):
            nothing_found(nothing)
        away = False
        while True:
            sys.stdout.flush()
            await engine.changed()
            began = time.monotonic()
            try:
                found = list(tables(await ask(engine)))
            except NameNotFoundError:
                found = [Table(table.columns) for table in _only_tables(blocks)]  # the object was deleted
            except OpaError as error:
                if not away:
                    print_error(f"warning: {error}; waiting")
                away = True
                await asyncio.sleep(AWAY_DELAY)
                continue
            away = False
            watched.show(found)
            # Expensive queries must not keep OPA busy all the time.
            await asyncio.sleep(time.monotonic() - began)


def _only_tables(blocks: Sequence[Table | str]) -> list[Table]:
    return [block for block in blocks if isinstance(block, Table)]


def _print_blocks(blocks: Sequence[Table | str]) -> bool:
    """Print blocks with rows; return whether there are any."""
    made = [block for block in blocks if isinstance(block, str) or block.rows]
    if any(isinstance(block, Table) for block in made):
        print_tables(made)
        return True
    return False


class Repeated:
    """Blocks that are printed again as a whole when one of them differs."""

    def __init__(self, printed: Sequence[Table | str], nothing: str) -> None:
        self.printed = printed
        self._nothing = nothing

    def show(self, blocks: Sequence[Table | str]) -> None:
        """Print the blocks after an empty line, if they differ from the previous ones."""
        if list(blocks) == list(self.printed):
            return
        self.printed = blocks
        print()
        if not _print_blocks(blocks):
            nothing_found(self._nothing)


class Watched:
    """The previous tables."""

    def __init__(self, tables: list[Table]) -> None:
        self.tables = tables
        self._headed = max((index for index, table in enumerate(tables) if table.rows), default=-1)

    def show(self, blocks: Sequence[Table | str]) -> None:
        """Print the changed rows of the tables, below a header if another table's rows are above."""
        tables = _only_tables(blocks)
        for index, table in enumerate(tables):
            before = self.tables[index] if index < len(self.tables) else Table(table.columns)
            rows = list(_differing(before, table))
            if not rows:
                continue
            same = [column.title for column in before.columns] == [column.title for column in table.columns]
            like = before if self._headed == index and same else None
            print_tables([Table(table.columns, rows)], like=like)
            self._headed = index
        self.tables = tables


def _differing(before: Table, after: Table) -> list[Row]:
    """Return new and changed rows, and deleted ones with a mark."""
    was, now = _by_name(before), _by_name(after)
    rows = [row for name, row in now.items() if _lasting(before, was.get(name)) != _lasting(after, row)]
    titles = [column.title for column in after.columns]
    for name in was:
        if name not in now:
            cells, marked = dict(name), False
            row = []
            for title in titles:
                text = cells.get(title, "")
                if title not in cells and not marked:
                    text, marked = _GONE, True
                row.append(text)
            rows.append(row)
    return rows


def _by_name(table: Table) -> dict[tuple[tuple[str, str], ...], Row]:
    titles = [column.title for column in table.columns]
    naming = _NAMES if "NAME" in titles else _NAMING
    named: dict[tuple[tuple[str, str], ...], Row] = {}
    for row in table.rows:
        cells = [(title, cell) for title, cell in zip(titles, row, strict=True) if title in naming]
        while tuple(cells) in named:  # several rows of one name are distinguished by their order
            cells.append(("", str(len(cells))))
        named[tuple(cells)] = row
    return named


def _lasting(table: Table, row: Row | None) -> dict[str, str] | None:
    """Return the cells of a row to compare: an empty column, which another table may lack, is ignored."""
    if row is None:
        return None
    cells = zip(table.columns, row, strict=True)
    return {column.title: cell for column, cell in cells if cell and column.title not in _PASSING}
