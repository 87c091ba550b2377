"""`--watch`: print the output of a command, then changed rows, like kubectl."""

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from bridge.cli.output import print_error
from bridge.cli.reading import Ask, Asked, opened, report_problems
from bridge.cli.source import Input
from bridge.cli.table import Block, Table, filled, print_tables
from bridge.files import STDIN
from bridge.queries.names import CommandError, NameNotFoundError

AWAY_DELAY = 1.0  # seconds before a retry of an unavailable OPA
# Columns that identify a row; a column that grows with time is not a change.
_NAMING = frozenset({"TARGET", "POLICY KIND", "VIA", "POLICY", "KIND", "ANCESTOR", "AFFECTED", "AT", "CONDITION"})
_NAMES = frozenset({"NAMESPACE", "NAME", "KIND"})
_PASSING = frozenset({"AGE"})
_GONE = "<gone>"

Row = Sequence[str]


def watch(asked: Asked, ask: Ask, types: Sequence[str]) -> None:
    """Show the current answer of a command, then changed rows of its tables, until interrupted.

    `types` are read in addition to those that every command needs. Raises CommandError for options that do not work
    with --watch.
    """
    check_watch(asked.source, asked.output)
    asyncio.run(_watch(asked, ask, types))


def check_watch(source: Input, output: str) -> None:
    """Raise CommandError for options that do not work with --watch."""
    if output not in {"table", "wide"}:
        raise CommandError("--watch prints tables: use -o table or wide; for programs use /v1/effective?watch=true")
    if STDIN in source.manifests:
        raise CommandError("standard input cannot be watched: give --manifests a file or folder")


async def _watch(asked: Asked, ask: Ask, types: Sequence[str]) -> None:
    from bridge.opa.errors import OpaError

    async with opened(asked.source, types, follow=True) as engine:
        answer = await ask(engine, asked)
        blocks = list(answer.tables())
        await report_problems(engine)
        watched = Repeated(blocks, answer.nothing) if answer.whole else Watched(_only_tables(blocks))
        if not _print_blocks(blocks):
            print_error(answer.nothing)
        away = False
        while True:
            sys.stdout.flush()
            await engine.changed()
            began = time.monotonic()
            try:
                found = list((await ask(engine, asked)).tables())
            except NameNotFoundError:
                found = [replace(table, rows=[]) for table in _only_tables(blocks)]  # the object was deleted
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


def _only_tables(blocks: Sequence[Block]) -> list[Table]:
    return [block for block in blocks if isinstance(block, Table)]


def _print_blocks(blocks: Sequence[Block]) -> bool:
    """Print blocks with rows; return whether there are any."""
    made = filled(blocks)
    if any(isinstance(block, Table) for block in made):
        print_tables(made)
        return True
    return False


class Repeated:
    """Blocks that are printed again as a whole when one of them differs."""

    def __init__(self, printed: Sequence[Block], nothing: str) -> None:
        self.printed = printed
        self._nothing = nothing

    def show(self, blocks: Sequence[Block]) -> None:
        """Print the blocks after an empty line, if they differ from the previous ones."""
        if list(blocks) == list(self.printed):
            return
        self.printed = blocks
        print()
        if not _print_blocks(blocks):
            print_error(self._nothing)


class Watched:
    """The previous tables."""

    def __init__(self, tables: list[Table]) -> None:
        self.tables = tables
        self._headed = max((index for index, table in enumerate(tables) if table.rows), default=-1)

    def show(self, blocks: Sequence[Block]) -> None:
        """Print the changed rows of the tables, below a header if another table's rows are above."""
        tables = _only_tables(blocks)
        for index, table in enumerate(tables):
            before = self.tables[index] if index < len(self.tables) else replace(table, rows=[])
            rows = list(_differing(before, table))
            if not rows:
                continue
            same = before.titles == table.titles
            like = before if self._headed == index and same else None
            print_tables([replace(table, rows=rows)], like=like)
            self._headed = index
        self.tables = tables


def _differing(before: Table, after: Table) -> list[Row]:
    """Return new and changed rows, and deleted ones with a mark."""
    was, now = _by_name(before), _by_name(after)
    rows = [row for name, row in now.items() if _lasting(before, was.get(name)) != _lasting(after, row)]
    for name in was:
        if name not in now:
            cells, marked = dict(name), False
            row = []
            for title in after.titles:
                text = cells.get(title, "")
                if title not in cells and not marked:
                    text, marked = _GONE, True
                row.append(text)
            rows.append(row)
    return rows


def _by_name(table: Table) -> dict[tuple[tuple[str, str], ...], Row]:
    naming = _NAMES if "NAME" in table.titles else _NAMING
    named: dict[tuple[tuple[str, str], ...], Row] = {}
    for row in table.rows:
        cells = [(title, cell) for title, cell in zip(table.titles, row, strict=True) if title in naming]
        while tuple(cells) in named:  # several rows of one name are distinguished by their order
            cells.append(("", str(len(cells))))
        named[tuple(cells)] = row
    return named


def _lasting(table: Table, row: Row | None) -> dict[str, str] | None:
    """Return the cells of a row to compare: an empty column, which another table may lack, is ignored."""
    if row is None:
        return None
    return {title: cell for title, cell in zip(table.titles, row, strict=True) if cell and title not in _PASSING}
