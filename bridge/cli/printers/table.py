"""Tables in kubectl's style: columns separated by spaces, no lines.

On a terminal that is too narrow, cells are broken between words, or cut if the column allows it. If that is not enough,
optional columns are omitted, then long cells are printed below their row, and finally other cells from the right, so
that every line fits. In other outputs (a pipe, a file) each row is one line of any length, which grep and awk can
process.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from bridge.cli.terminal import emphasize, paint, use_colors
from bridge.model.text import TIE, plain

_GAP = 3  # spaces between columns
_LEAST_GAP = 2
_LEAST = 12  # the minimum width of a column, unless its title is shorter
_LEAST_CUT = 24  # the minimum rest of a cut cell; a shorter one is printed below
_INDENT = "  "  # of cells below a row


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    `painted`: words of outcomes are colored. `long`: cells may be printed below their row. `cut`: long cells are cut,
    not broken. `spare`: the column may be omitted. `tree`: cells are branches, which continue next to broken cells.
    """

    title: str
    painted: bool = False
    long: bool = False
    cut: bool = False
    spare: bool = False
    tree: bool = False


@dataclass(slots=True)
class Table:
    """Columns and rows with one cell for each."""

    columns: Sequence[Column]
    rows: list[Sequence[str]] = field(default_factory=list)

    def titled(self, **titles: str) -> Table:
        """Return the table with other titles for the columns with these names."""
        return Table(
            [replace(column, title=titles.get(column.title, column.title)) for column in self.columns], self.rows
        )

    def without(self, title: str) -> Table:
        """Return the table without a column."""
        return self._only(index for index, column in enumerate(self.columns) if column.title != title)

    def without_empty(self, *titles: str) -> Table:
        """Return the table without those of the named columns in which every cell is empty."""
        return self._only(
            index
            for index, column in enumerate(self.columns)
            if column.title not in titles or any(row[index] for row in self.rows)
        )

    def _only(self, indices: Iterable[int]) -> Table:
        kept = list(indices)
        return Table([self.columns[index] for index in kept], [[row[index] for index in kept] for row in self.rows])


def print_tables(blocks: Sequence[Table | str], like: Table | None = None) -> None:
    """Print tables on standard output, separated by an empty line, as wide as the terminal; a text is a title.

    Tables after a table `like` these have no header, and their columns are aligned with that table's.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    colors = use_colors()
    text = "\n".join(
        _title(block, width, colors=colors)
        if isinstance(block, str)
        else render(block, width, colors=colors, like=like)
        for block in blocks
    )
    # A terminal or file that cannot show a character must not stop the output.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def _title(text: str, width: int | None, *, colors: bool) -> str:
    lines = _wrap(plain(text), width) if width else [plain(text)]
    return "".join(f"{emphasize(line) if colors else line}\n".replace(TIE, " ") for line in lines)


def render(table: Table, width: int | None = None, *, colors: bool = False, like: Table | None = None) -> str:
    """Return the table as text with a final newline; `width` in characters, None for no limit; `like`: see above."""
    columns = table.columns
    rows = [[plain(cell) for cell in row] for row in table.rows]
    measured = [*rows, *([plain(cell) for cell in row] for row in (like.rows if like else ()))]
    beside, widths, gap = _arrange(columns, measured, width)
    below = [index for index, column in enumerate(columns) if not column.spare and index not in beside]
    painters = [paint if colors and column.painted else _plain for column in columns]
    lines = [] if like else [_line([columns[index].title for index in beside], widths, [_plain] * len(beside), gap)]
    for row in rows:
        cells = [
            [_shorten(row[index], size)] if columns[index].cut else _wrap(row[index], size)
            for index, size in zip(beside, widths, strict=True)
        ]
        for number in range(max(len(cell) for cell in cells)):
            texts = [
                cell[number] if number < len(cell) else _branches(cell[0]) if columns[index].tree else ""
                for index, cell in zip(beside, cells, strict=True)
            ]
            lines.append(_line(texts, widths, [painters[index] for index in beside], gap))
        if width is not None and below:
            lines += _below([(columns[index], row[index], painters[index]) for index in below], width)
    return "\n".join(lines) + "\n"


def _arrange(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None
) -> tuple[list[int], list[int], int]:
    """Return the columns that fit next to each other, their widths, and the gap between them."""
    every = list(range(len(columns)))
    needed = [index for index in every if not columns[index].spare]
    short = [index for index in needed if not columns[index].long]
    for beside, gap in itertools.product((every, needed, short), (_GAP, _LEAST_GAP)):
        chosen = [columns[index] for index in beside]
        widths = _fit(chosen, [[row[index] for index in beside] for row in rows], width, gap)
        if beside and (width is None or _fits(widths, width, gap)):
            return beside, widths, gap
    return _arrange_narrow(columns, rows, short or needed or every, width or 0)


def _arrange_narrow(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], indices: list[int], width: int
) -> tuple[list[int], list[int], int]:
    """Return the arrangement in which cells are broken anywhere; failing that, one with fewer columns, at least one."""

    def fitted(beside: list[int]) -> list[int]:
        return _fit([columns[i] for i in beside], [[row[i] for i in beside] for row in rows], width, _LEAST_GAP)

    squeezed = _squeeze([columns[index] for index in indices], fitted(indices), width)
    if _fits(squeezed, width, _LEAST_GAP):
        return indices, squeezed, _LEAST_GAP
    for count in range(len(indices) - 1, 0, -1):
        if _fits(widths := fitted(indices[:count]), width, _LEAST_GAP):
            return indices[:count], widths, _LEAST_GAP
    first = indices[:1]
    return first, _squeeze([columns[first[0]]], fitted(first), width), _LEAST_GAP


def _below(cells: Sequence[tuple[Column, str, Callable[[str], str]]], width: int) -> list[str]:
    titles = max(len(column.title) for column, _, _ in cells)
    room = max(width - len(_INDENT) - titles - _GAP, _LEAST)
    lines = []
    for column, cell, painter in cells:
        if cell:
            title = column.title
            for text in [_shorten(cell, room)] if column.cut else _wrap(cell, room):
                lines.append(_INDENT + _line([title, text], [titles, 0], [_plain, painter], _GAP))
                title = ""
    return lines


def _branches(cell: str) -> str:
    """Return the part of a tree's branches that continues below a cell."""
    begun = cell[: len(cell) - len(cell.lstrip(f"│├└─ {TIE}"))]
    return begun.replace("├", "│").translate({ord(mark): " " for mark in "└─"})


def display_width(text: str) -> int:
    """Return the number of terminal columns of a text."""
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"}:  # combining marks
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fit(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None, gap: int) -> list[int]:
    """Return the columns' widths, reduced toward `width` as far as lines can be broken between words."""
    cells = [[column.title, *(row[index] for row in rows)] for index, column in enumerate(columns)]
    sizes = [max(map(display_width, column)) for column in cells]
    if width is None:
        return sizes
    floors = [
        _LEAST_CUT
        if column.cut
        else max(len(column.title), *(display_width(word) for cell in texts for word in _words(cell)))
        for column, texts in zip(columns, cells, strict=True)
    ]
    return _reduce(sizes, floors, width, gap)


def _squeeze(columns: Sequence[Column], sizes: list[int], width: int) -> list[int]:
    """Return the widths, reduced further by breaking lines anywhere."""
    return _reduce(sizes, [max(len(column.title), _LEAST) for column in columns], width, _LEAST_GAP)


def _reduce(sizes: list[int], floors: Sequence[int], width: int, gap: int) -> list[int]:
    room = width - gap * (len(sizes) - 1)
    reduced = list(sizes)
    while sum(reduced) > room:
        above = [index for index, size in enumerate(reduced) if size > floors[index]]
        if not above:
            break
        reduced[max(above, key=reduced.__getitem__)] -= 1
    return reduced


def _fits(sizes: Sequence[int], width: int, gap: int) -> bool:
    return sum(sizes) + gap * (len(sizes) - 1) <= width


def _words(cell: str) -> list[str]:
    return [word for word in cell.split(" ") if word] or [""]


def _wrap(cell: str, size: int) -> list[str]:
    """Return the cell in lines: broken between words, and long words at separators of names."""
    if display_width(cell) <= size:
        return [cell]
    lines = [""]
    for word in _words(cell):
        piece = word
        if display_width(f"{lines[-1]} {piece}".lstrip()) <= size:
            lines[-1] = f"{lines[-1]} {piece}".lstrip()
            continue
        while display_width(piece) > size:
            head = _head(piece, size)
            lines.append(head)
            piece = piece[len(head) :]
        lines.append(piece)
    return [line for line in lines if line] or [""]


def _head(word: str, size: int) -> str:
    """Return the beginning of a word that fits, up to a separator of a name if there is one."""
    end = len(word)
    while end > 1 and display_width(word[:end]) > size:
        end -= 1
    marked = max(word.rfind(mark, 0, end) for mark in "/-.#,:=") + 1
    return word[: marked if marked > end // 3 else end]


def _shorten(cell: str, size: int) -> str:
    if display_width(cell) <= size:
        return cell
    while display_width(cell) > size - 1:
        cell = cell[:-1]
    return f"{cell.rstrip()}…"


def _line(texts: Sequence[str], widths: Sequence[int], painters: Sequence[Callable[[str], str]], gap: int) -> str:
    padded = [
        painter(text) + " " * (size - display_width(text))
        for text, size, painter in zip(texts, widths, painters, strict=True)
    ]
    return (" " * gap).join(padded).rstrip().replace(TIE, " ")


def _plain(text: str) -> str:
    return text
