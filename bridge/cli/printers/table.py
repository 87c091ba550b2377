"""Tables as kubectl prints them: columns by spaces, no lines.

On a terminal that is too narrow, cells are broken into several lines, or cut where a column says so. Elsewhere (a pipe, a
file) each row is one line, whatever its length, so that grep and awk can be trusted.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bridge.cli.printers.colors import paint, use_colors

_GAP = 3  # spaces between columns
_LEAST = 12  # a column is not made narrower than this, or than its title


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `painted`: words of outcomes in it get their colours. `cut`: too long a cell is cut, not broken."""

    title: str
    painted: bool = False
    cut: bool = False


@dataclass(slots=True)
class Table:
    """Columns and rows of as many cells."""

    columns: Sequence[Column]
    rows: list[Sequence[str]] = field(default_factory=list)

    def without_empty(self, *titles: str) -> Table:
        """The table without those of the named columns in which every cell is empty."""
        kept = [
            index
            for index, column in enumerate(self.columns)
            if column.title not in titles or any(row[index] for row in self.rows)
        ]
        return Table([self.columns[index] for index in kept], [[row[index] for index in kept] for row in self.rows])


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables on standard output, an empty line between two, as wide as the terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    colors = use_colors()
    text = "\n".join(render(table, width, colors=colors) for table in tables)
    # A terminal or file that cannot show a character must not stop the rest.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def render(table: Table, width: int | None = None, *, colors: bool = False) -> str:
    """The table as text that ends with a line's end; `width` in characters, None for no bound."""
    rows = [[_clean(cell) for cell in row] for row in table.rows]
    titles = [column.title for column in table.columns]
    widths = _fit(table.columns, [titles, *rows], width)
    lines = [_line(titles, widths, [_plain] * len(widths))]
    painters = [paint if colors and column.painted else _plain for column in table.columns]
    for row in rows:
        cells = [
            [_shorten(cell, size)] if column.cut else _wrap(cell, size)
            for cell, size, column in zip(row, widths, table.columns, strict=True)
        ]
        for index in range(max(len(cell) for cell in cells)):
            texts = [cell[index] if index < len(cell) else "" for cell in cells]
            lines.append(_line(texts, widths, painters))
    return "\n".join(lines) + "\n"


def display_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fit(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> list[int]:
    sizes = [max(display_width(row[index]) for row in rows) for index in range(len(columns))]
    if width is None:
        return sizes
    room = max(width - _GAP * (len(columns) - 1), 1)
    words = [
        max(display_width(word) for row in rows for word in [*row[index].split(), ""]) for index in range(len(columns))
    ]
    # First where a line can be broken between words, then anywhere.
    for floors in (
        [_LEAST if column.cut else max(word, _LEAST) for column, word in zip(columns, words, strict=True)],
        [max(len(column.title), _LEAST) for column in columns],
    ):
        while sum(sizes) > room:
            widest = max(range(len(sizes)), key=lambda index: sizes[index] if sizes[index] > floors[index] else 0)
            if sizes[widest] <= floors[widest]:
                break
            sizes[widest] -= 1
    return sizes


def _wrap(cell: str, size: int) -> list[str]:
    if display_width(cell) <= size:
        return [cell]
    return textwrap.wrap(cell, size, break_on_hyphens=False) or [""]


def _shorten(cell: str, size: int) -> str:
    if display_width(cell) <= size:
        return cell
    while display_width(cell) > size - 1:
        cell = cell[:-1]
    return f"{cell.rstrip()}…"


def _line(texts: Sequence[str], widths: Sequence[int], painters: Sequence[Callable[[str], str]]) -> str:
    padded = [
        painter(text) + " " * (size - display_width(text))
        for text, size, painter in zip(texts, widths, painters, strict=True)
    ]
    return (" " * _GAP).join(padded).rstrip()


def _clean(cell: str) -> str:
    """One line without characters that a terminal would obey."""
    return "".join(character if character.isprintable() else " " for character in cell)


def _plain(text: str) -> str:
    return text
