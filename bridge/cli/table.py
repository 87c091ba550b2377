"""Tables in kubectl's style: columns separated by spaces, no lines; colors for people.

On a terminal that is too narrow, cells are broken between words. If that is not enough, optional columns are omitted,
then long cells are printed below their row, and finally other cells from the right. A word is broken only if it is
longer than the terminal is wide. In other outputs (a pipe, a file) each row is one line of any length, which grep and
awk can process.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from bridge.model.text import TIE, plain

_GAP = 3  # spaces between columns
_LEAST_GAP = 2
_LEAST = 12  # the minimum width of cells below a row
_INDENT = "  "  # of cells below a row

# The look of a column is that of its title, in every table. The first column of a table names its rows.
_LONG = frozenset(  # cells may be printed below their row
    (
        *("AFTER", "BEFORE", "DIFFERENCE", "EFFECTIVE", "FAILS", "FIX", "FOR", "FOUND", "MESSAGE", "NAMES"),
        *("NOW", "OUTCOME", "PACKAGES", "POLICIES", "RESULT", "SOURCE", "STRATEGIES", "TARGET", "TARGETS"),
        *("VALUE", "WANTED", "WHY", "WHY NOT", "WITH IT", "WITHOUT IT", "WRITTEN BY A BRIDGE"),
    )
)
_PAINTED = frozenset(  # words of outcomes are colored
    (
        *("ACCEPTED", "AFTER", "BEFORE", "EFFECTIVE", "ERROR", "MODE", "OUTCOME", "PATHS", "POLICIES", "PROBLEM"),
        *("PROGRAMMED", "REASON", "REPORTED", "STATE", "STATUS", "TYPE", "WITH IT", "WITHOUT IT"),
    )
)
_TREE = "HIERARCHY"  # cells are branches, which continue next to broken cells


@dataclass(frozen=True, slots=True)
class Table:
    """Titles of columns, and rows with one cell for each.

    `long` and `spare` are columns whose cells may be printed below their row, or omitted, where not every table with
    such a title does so.
    """

    titles: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    long: Collection[str] = ()
    spare: Collection[str] = ()

    def titled(self, **titles: str) -> Table:
        """Return the table with other titles for the columns with these names."""
        return replace(self, titles=[titles.get(title, title) for title in self.titles])

    def without(self, title: str) -> Table:
        """Return the table without a column."""
        return self._only(index for index, found in enumerate(self.titles) if found != title)

    def without_empty(self, *titles: str) -> Table:
        """Return the table without those of the named columns in which every cell is empty."""
        return self._only(
            index
            for index, title in enumerate(self.titles)
            if title not in titles or any(row[index] for row in self.rows)
        )

    def is_long(self, index: int) -> bool:
        """Return whether cells of a column may be printed below their row."""
        title = self.titles[index]
        return title in self.long or (index > 0 and title in _LONG)

    def _only(self, indices: Iterable[int]) -> Table:
        kept = list(indices)
        rows: list[Sequence[str]] = [[row[index] for index in kept] for row in self.rows]
        return replace(self, titles=[self.titles[index] for index in kept], rows=rows)


Block = Table | str  # a text is a title or a sentence


def print_tables(blocks: Sequence[Block], like: Table | None = None) -> None:
    """Print tables on standard output, separated by an empty line, as wide as the terminal; a text is a title.

    Tables after a table `like` these have no header, and their columns are aligned with that table's.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    colors = _use_colors()
    text = "\n".join(
        _title(block, width, colors=colors)
        if isinstance(block, str)
        else render(block, width, colors=colors, like=like)
        for block in blocks
    )
    # A terminal or file that cannot show a character must not stop the output.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def filled(blocks: Iterable[Block]) -> list[Block]:
    """Return the texts, and the tables that have rows."""
    return [block for block in blocks if isinstance(block, str) or block.rows]


def _title(text: str, width: int | None, *, colors: bool) -> str:
    lines = _wrap(plain(text), width) if width else [plain(text)]
    return "".join(f"\x1b[1m{line}\x1b[0m\n" if colors else f"{line}\n" for line in lines).replace(TIE, " ")


def render(table: Table, width: int | None = None, *, colors: bool = False, like: Table | None = None) -> str:
    """Return the table as text with a final newline; `width` in characters, None for no limit; `like`: see above."""
    rows = [[plain(cell) for cell in row] for row in table.rows]
    measured = [*rows, *([plain(cell) for cell in row] for row in (like.rows if like else ()))]
    beside, widths, gap = _arrange(table, measured, width)
    below = [index for index, title in enumerate(table.titles) if title not in table.spare and index not in beside]
    painters = [paint if colors and title in _PAINTED else _plain for title in table.titles]
    lines = [] if like else [_line([table.titles[index] for index in beside], widths, [_plain] * len(beside), gap)]
    for row in rows:
        cells = [_wrap(row[index], size) for index, size in zip(beside, widths, strict=True)]
        for number in range(max(len(cell) for cell in cells)):
            texts = [
                cell[number] if number < len(cell) else _branches(cell[0]) if table.titles[index] == _TREE else ""
                for index, cell in zip(beside, cells, strict=True)
            ]
            lines.append(_line(texts, widths, [painters[index] for index in beside], gap))
        if width is not None and below:
            lines += _below([(table.titles[index], row[index], painters[index]) for index in below], width)
    return "\n".join(lines) + "\n"


def _arrange(table: Table, rows: Sequence[Sequence[str]], width: int | None) -> tuple[list[int], list[int], int]:
    """Return the columns that fit next to each other, their widths, and the gap between them."""
    every = list(range(len(table.titles)))
    needed = [index for index in every if table.titles[index] not in table.spare]
    short = [index for index in needed if not table.is_long(index)]
    fewer = [short[:count] for count in range(len(short) - 1, 0, -1)]
    for beside in (every, needed, short, *fewer):
        cells = [[table.titles[index], *(row[index] for row in rows)] for index in beside]
        for gap in (_GAP, _LEAST_GAP):
            widths = _fit(cells, width, gap)
            if beside and (width is None or sum(widths) + gap * (len(widths) - 1) <= width):
                return beside, widths, gap
    return every[:1], [width or 0], _LEAST_GAP


def _fit(cells: Sequence[Sequence[str]], width: int | None, gap: int) -> list[int]:
    """Return the columns' widths, reduced toward `width` as far as lines can be broken between words."""
    sizes = [max(map(display_width, column)) for column in cells]
    if width is None:
        return sizes
    floors = [max(display_width(word) for cell in column for word in _words(cell)) for column in cells]
    floors = [max(floor, len(column[0])) for floor, column in zip(floors, cells, strict=True)]
    room = width - gap * (len(sizes) - 1)
    while sum(sizes) > room:
        above = [index for index, size in enumerate(sizes) if size > floors[index]]
        if not above:
            break
        sizes[max(above, key=sizes.__getitem__)] -= 1
    return sizes


def _below(cells: Sequence[tuple[str, str, Callable[[str], str]]], width: int) -> list[str]:
    titles = max(len(title) for title, _, _ in cells)
    room = max(width - len(_INDENT) - titles - _GAP, _LEAST)
    lines = []
    for title, cell, painter in cells:
        if cell:
            for number, text in enumerate(_wrap(cell, room)):
                lines.append(_INDENT + _line(["" if number else title, text], [titles, 0], [_plain, painter], _GAP))
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


def _words(cell: str) -> list[str]:
    return [word for word in cell.split(" ") if word] or [""]


def _wrap(cell: str, size: int) -> list[str]:
    """Return the cell in lines: broken between words; words that are longer than a line at separators of names."""
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


def _line(texts: Sequence[str], widths: Sequence[int], painters: Sequence[Callable[[str], str]], gap: int) -> str:
    padded = [
        painter(text) + " " * (size - display_width(text))
        for text, size, painter in zip(texts, widths, painters, strict=True)
    ]
    return (" " * gap).join(padded).rstrip().replace(TIE, " ")


def _plain(text: str) -> str:
    return text


_CODES = {"good": "32", "partly": "33", "bad": "31", "dim": "2"}
# The colors of words of outcomes and conditions.
_WORDS = {
    "good": ("True", "Programmed"),
    "partly": ("PartiallyProgrammed", "partly", "NoScope"),
    "bad": ("Overridden", "overridden", "False", "Failed", "failed", "error:", "missing", "differs"),
    "dim": ("Observe", "outdated"),
}
_CODE_OF = {word: _CODES[color] for color, words in _WORDS.items() for word in words}
_PATTERN = re.compile(
    r"(?<![\w/.-])(" + "|".join(map(re.escape, sorted(_CODE_OF, key=len, reverse=True))) + r")(?![\w/-])"
)


def _use_colors() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str) -> str:
    """Return the text with the words of outcomes in color."""
    return _PATTERN.sub(lambda match: f"\x1b[{_CODE_OF[match[1]]}m{match[1]}\x1b[0m", text)
