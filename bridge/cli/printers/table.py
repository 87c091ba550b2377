"""Tables as kubectl prints them: columns by spaces, no lines.

On a terminal that is too narrow, cells are broken between words, or cut where a column says so; if that is not enough,
what is long stands below its row. Elsewhere (a pipe, a file) each row is one line, whatever its length, so that grep
and awk can be trusted.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from bridge.cli.printers.colors import emphasize, paint, use_colors

_GAP = 3  # spaces between columns
_LEAST = 12  # a column is not made narrower than this, or than its title
_LEAST_CUT = 24  # what is left of a cell that is cut; with less it stands below
_INDENT = "  "  # of what stands below a row
TIE = "\u00a0"  # a space at which no line is broken; it is printed as a plain one


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    `painted`: words of outcomes in it get their colours. `long`: its cells may stand below their row. `cut`: too long a
    cell is cut, not broken.
    """

    title: str
    painted: bool = False
    long: bool = False
    cut: bool = False


@dataclass(slots=True)
class Table:
    """Columns and rows of as many cells."""

    columns: Sequence[Column]
    rows: list[Sequence[str]] = field(default_factory=list)

    def titled(self, **titles: str) -> Table:
        """The table with other titles for the columns of these names."""
        return Table(
            [replace(column, title=titles.get(column.title, column.title)) for column in self.columns], self.rows
        )

    def without(self, title: str) -> Table:
        """The table without a column."""
        return self._only(index for index, column in enumerate(self.columns) if column.title != title)

    def without_empty(self, *titles: str) -> Table:
        """The table without those of the named columns in which every cell is empty."""
        return self._only(
            index
            for index, column in enumerate(self.columns)
            if column.title not in titles or any(row[index] for row in self.rows)
        )

    def _only(self, indices: Iterable[int]) -> Table:
        kept = list(indices)
        return Table([self.columns[index] for index in kept], [[row[index] for index in kept] for row in self.rows])


def print_tables(blocks: Sequence[Table | str]) -> None:
    """Print tables on standard output, an empty line between two, as wide as the terminal; a text is a title."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    colors = use_colors()
    text = "\n".join(
        _title(block, width, colors=colors) if isinstance(block, str) else render(block, width, colors=colors)
        for block in blocks
    )
    # A terminal or file that cannot show a character must not stop the rest.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def _title(text: str, width: int | None, *, colors: bool) -> str:
    lines = _wrap(_clean(text), width) if width else [_clean(text)]
    return "".join(f"{emphasize(line) if colors else line}\n".replace(TIE, " ") for line in lines)


def render(table: Table, width: int | None = None, *, colors: bool = False) -> str:
    """The table as text that ends with a line's end; `width` in characters, None for no bound."""
    columns = table.columns
    rows = [[_clean(cell) for cell in row] for row in table.rows]
    beside = list(range(len(columns)))
    widths = _fit(columns, rows, width)
    if width is not None and not _fits(columns, widths, width):
        beside = [index for index in beside if not columns[index].long] or beside
        columns_beside = [columns[index] for index in beside]
        widths = _fit(columns_beside, [[row[index] for index in beside] for row in rows], width)
        widths = widths if _fits(columns_beside, widths, width) else _squeeze(columns_beside, widths, width)
    painters = [paint if colors and column.painted else _plain for column in columns]
    lines = [_line([columns[index].title for index in beside], widths, [_plain] * len(beside))]
    for row in rows:
        cells = [
            [_shorten(row[index], size)] if columns[index].cut else _wrap(row[index], size)
            for index, size in zip(beside, widths, strict=True)
        ]
        for number in range(max(len(cell) for cell in cells)):
            texts = [cell[number] if number < len(cell) else "" for cell in cells]
            lines.append(_line(texts, widths, [painters[index] for index in beside]))
        if width is not None and len(beside) < len(columns):
            lines += _below(columns, row, painters, width)
    return "\n".join(lines) + "\n"


def _below(
    columns: Sequence[Column], row: Sequence[str], painters: Sequence[Callable[[str], str]], width: int
) -> list[str]:
    titles = max(len(column.title) for column in columns if column.long)
    room = max(width - len(_INDENT) - titles - _GAP, _LEAST)
    lines = []
    for column, cell, painter in zip(columns, row, painters, strict=True):
        if column.long and cell:
            title = column.title
            for text in [_shorten(cell, room)] if column.cut else _wrap(cell, room):
                lines.append(_INDENT + _line([title, text], [titles, 0], [_plain, painter]))
                title = ""
    return lines


def display_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fit(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> list[int]:
    """The columns' widths, reduced toward `width` as far as lines can be broken between words."""
    cells = [[column.title, *(row[index] for row in rows)] for index, column in enumerate(columns)]
    sizes = [max(map(display_width, column)) for column in cells]
    if width is None:
        return sizes
    floors = [
        _LEAST_CUT if column.cut else max(display_width(word) for cell in texts for word in _words(cell))
        for column, texts in zip(columns, cells, strict=True)
    ]
    return _reduce(sizes, floors, width)


def _squeeze(columns: Sequence[Column], sizes: list[int], width: int) -> list[int]:
    """The widths, reduced further by breaking lines anywhere."""
    return _reduce(sizes, [max(len(column.title), _LEAST) for column in columns], width)


def _reduce(sizes: list[int], floors: Sequence[int], width: int) -> list[int]:
    room = width - _GAP * (len(sizes) - 1)
    reduced = list(sizes)
    while sum(reduced) > room:
        above = [index for index, size in enumerate(reduced) if size > floors[index]]
        if not above:
            break
        reduced[max(above, key=reduced.__getitem__)] -= 1
    return reduced


def _fits(columns: Sequence[Column], sizes: Sequence[int], width: int) -> bool:
    return sum(sizes) + _GAP * (len(columns) - 1) <= width


def _words(cell: str) -> list[str]:
    return [word for word in cell.split(" ") if word] or [""]


def _wrap(cell: str, size: int) -> list[str]:
    if display_width(cell) <= size:
        return [cell]
    return textwrap.wrap(cell, max(size, 1), break_on_hyphens=False) or [""]


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
    return (" " * _GAP).join(padded).rstrip().replace(TIE, " ")


def _clean(cell: str) -> str:
    """One line without characters that a terminal would obey."""
    return "".join(character if character.isprintable() or character == TIE else " " for character in cell)


def _plain(text: str) -> str:
    return text
