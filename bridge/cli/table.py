"""Tables in kubectl's style: columns separated by spaces, no lines; colors for people.

On a terminal that is too narrow, cells are broken between words. If that is not enough, optional columns are omitted,
the least important first, then long cells are printed below their row, the longest first, and finally other cells from
the right. A word is broken only if it is longer than the terminal is wide. In other outputs (a pipe, a file) each row
is one line of any length, which grep and awk can process.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from bridge.model.text import TIE, plain

_GAP = 3  # spaces between columns
_LEAST_GAP = 2
_READABLE = 40  # the least width of a long cell that is broken between words; a narrower one is printed below its row
_PHRASES = {"OUTCOME": 16}  # the same for columns of a few words
_INDENT = "  "  # of cells below a row
_HIDDEN = "Not shown in this width:"  # before the names of omitted columns

# The look of a column is that of its title, in every table. The first column of a table names its rows.
_LONG = frozenset(  # cells may be printed below their row
    (
        *("AFTER", "BEFORE", "DIFFERENCE", "EFFECTIVE", "FAILS", "FIX", "FOR", "FOUND", "MESSAGE", "NAMES"),
        *("NOTE", "NOW", "OUTCOME", "PACKAGES", "POLICIES", "RESULT", "SOURCE", "STRATEGIES", "TARGET", "TARGETS"),
        *("VALUE", "WANTED", "WHY", "WHY NOT", "WITH IT", "WITHOUT IT", "WRITTEN BY A BRIDGE"),
    )
)
_PAINTED = frozenset(  # words of outcomes are colored
    (
        *("ACCEPTED", "AFTER", "BEFORE", "EFFECTIVE", "ERROR", "MODE", "OUTCOME", "PATHS", "POLICIES", "PROBLEM"),
        *("PROGRAMMED", "REASON", "REPORTED", "STATE", "STATUS", "TYPE", "WITH IT", "WITHOUT IT"),
    )
)
_PAIRS = ({"BEFORE", "AFTER"}, {"WITH IT", "WITHOUT IT"})  # titles whose cells are compared: both are below, or none
_TREE = "HIERARCHY"  # cells are branches, which continue next to broken cells and below their row
_NONE = frozenset({"", "-", "<none>"})  # cells that are omitted below their row


class Lines(str):
    """A cell that is below its row at a terminal, as its `lines`; in other outputs it is the text on one line."""

    __slots__ = ("lines",)
    lines: Sequence[str]

    def __new__(cls, text: str, lines: Sequence[str] = ()) -> Self:
        """Return a cell; without `lines` it has its text as the only one."""
        cell = super().__new__(cls, text)
        cell.lines = [*lines] or [text]
        return cell

    @classmethod
    def joined(cls, cells: Iterable[Lines], separator: str) -> Lines:
        """Return the cells as one."""
        found = [*cells]
        return cls(separator.join(found), [line for cell in found for line in cell.lines])


@dataclass(frozen=True, slots=True)
class Table:
    """Titles of columns, and rows with one cell for each.

    `long` are columns whose cells may be printed below their row, where not every table with such a title does so.
    `spare` are columns that may be omitted, the least important first.
    """

    titles: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    long: Collection[str] = ()
    spare: Sequence[str] = ()

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


@dataclass(frozen=True, slots=True)
class Fields:
    """Names with one value each; those without a value are not printed."""

    pairs: Sequence[tuple[str, str]]

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Return the names that have a value."""
        return [(name, plain(value)) for name, value in self.pairs if value]


@dataclass(frozen=True, slots=True)
class Document:
    """Lines of YAML, which keep their indentation."""

    rows: Sequence[str]


Block = Table | Fields | Document | str  # a text is a title or a sentence


def print_tables(blocks: Sequence[Block], like: Table | None = None, *, headers: bool = True) -> None:
    """Print tables on standard output, separated by an empty line, as wide as the terminal; a text is a title.

    Tables after a table `like` these have no header, and their columns are aligned with that table's.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    colors = _use_colors()
    text = "\n".join(_printed(block, width, colors=colors, like=like, headers=headers) for block in blocks)
    # A terminal or file that cannot show a character must not stop the output.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def _printed(block: Block, width: int | None, *, colors: bool, like: Table | None, headers: bool) -> str:
    if isinstance(block, Table):
        return render(block, width, colors=colors, like=like, headers=headers)
    if isinstance(block, Fields):
        return "\n".join(_below([(f"{name}:", value, _plain) for name, value in block.rows], width, "")) + "\n"
    if isinstance(block, Document):
        indented = [line.replace(" ", TIE, len(line) - len(line.lstrip(" "))) for line in map(plain, block.rows)]
        lines = [part for line in indented for part in (_wrap(line, width, _INDENT) if width else [line])]
        return "".join(f"{line}\n" for line in lines).replace(TIE, " ")
    lines = _wrap(plain(block), width) if width else [plain(block)]
    return "".join(f"\x1b[1m{line}\x1b[0m\n" if colors else f"{line}\n" for line in lines).replace(TIE, " ")


def filled(blocks: Iterable[Block]) -> list[Block]:
    """Return the texts, and the tables and fields that have rows."""
    return [block for block in blocks if isinstance(block, str) or block.rows]


def render(
    table: Table, width: int | None = None, *, colors: bool = False, like: Table | None = None, headers: bool = True
) -> str:
    """Return the table as text with a final newline; `width` in characters, None for no limit; `like`: see above."""
    rows = [[_plain_cell(cell) for cell in row] for row in table.rows]
    measured = [*rows, *([plain(cell) for cell in row] for row in (like.rows if like else ()))]
    beside, widths, gap = _arrange(table, measured, width)
    below = [index for index, title in enumerate(table.titles) if title not in table.spare and index not in beside]
    painters = [paint if colors and title in _PAINTED else _plain for title in table.titles]
    lines = (
        []
        if like or not headers
        else [_line([table.titles[index] for index in beside], widths, [_plain] * len(beside), gap)]
    )
    for row in rows:
        hanging = "" if _TREE not in table.titles else _INDENT  # of lines that continue the policies of a node
        cells = [_wrap(row[index], size, hanging) for index, size in zip(beside, widths, strict=True)]
        continues = not any(row[index] for index in beside)  # the cells below the row before
        for number in () if continues else range(max(len(cell) for cell in cells)):
            texts = [
                cell[number] if number < len(cell) else _branches(cell[0]) if table.titles[index] == _TREE else ""
                for index, cell in zip(beside, cells, strict=True)
            ]
            lines.append(_line(texts, widths, [painters[index] for index in beside], gap))
        if width is not None and below:
            titles = [" " * len(title) if continues else title for title in table.titles]
            named = [(titles[index], row[index], painters[index]) for index in below]
            if _TREE in table.titles:
                policies = [("", cell, painter) for _, cell, painter in named]
                lines += _below(policies, width, _branches(row[0]).replace(TIE, " "))
            else:
                lines += _below(named, width)
    hidden = [title for index, title in enumerate(table.titles) if title in table.spare and index not in beside]
    if hidden and headers and not like:
        lines += _wrap(f"{_HIDDEN} {', '.join(hidden)}", width or 0)
    return "\n".join(lines) + "\n"


def _arrange(table: Table, rows: Sequence[Sequence[str]], width: int | None) -> tuple[list[int], list[int], int]:
    """Return the columns that fit next to each other, their widths, and the gap between them."""
    columns = [[title, *(row[index] for row in rows)] for index, title in enumerate(table.titles)]
    sizes = [max(map(display_width, column)) for column in columns]
    if width is None:
        return list(range(len(sizes))), sizes, _GAP
    floors = [_floor(table, index, cells) for index, cells in enumerate(columns)]
    stacked = [index for index in range(len(sizes)) if any(isinstance(row[index], Lines) for row in rows)]
    for beside in _choices(table, sizes, stacked):
        for gap in (_GAP, _LEAST_GAP):
            room = width - gap * (len(beside) - 1)
            widths = _reduce([sizes[index] for index in beside], [floors[index] for index in beside], room)
            if sum(widths) <= room:
                return beside, widths, gap
    return [0], [width], _GAP


def _floor(table: Table, index: int, cells: Sequence[str]) -> int:
    """Return the least width of a column: no word is broken, and long cells remain readable."""
    floor = max(len(cells[0]), *(display_width(word) for cell in cells for word in _words(cell)))
    if _TREE in table.titles:
        return floor + len(_INDENT)
    readable = _PHRASES.get(table.titles[index], _READABLE)
    return max(floor, min(max(map(display_width, cells)), readable)) if table.is_long(index) else floor


def _choices(table: Table, sizes: Sequence[int], stacked: Collection[int]) -> Iterator[list[int]]:
    """Yield columns to print next to each other: all, without the optional ones, and then fewer and fewer.

    `stacked` are below in any case.
    """
    chosen = [index for index in range(len(sizes)) if index not in stacked]
    for spare in table.spare:
        yield chosen
        chosen = [index for index in chosen if table.titles[index] != spare]
    while chosen:
        yield chosen
        widest = max(filter(table.is_long, chosen), key=sizes.__getitem__, default=chosen[-1])
        moved = next((pair for pair in _PAIRS if table.titles[widest] in pair), {table.titles[widest]})
        chosen = [index for index in chosen if table.titles[index] not in moved]


def _reduce(sizes: list[int], floors: Sequence[int], room: int) -> list[int]:
    """Return widths of columns, reduced toward `room` in total, the widest first, but not below their floors."""
    while sum(sizes) > room:
        above = [index for index, size in enumerate(sizes) if size > floors[index]]
        if not above:
            break
        sizes[max(above, key=sizes.__getitem__)] -= 1
    return sizes


def _below(
    cells: Sequence[tuple[str, str, Callable[[str], str]]],
    width: int | None,
    indent: str = _INDENT,
) -> list[str]:
    """Return named cells, one below the other; a word that would not fit beside its name begins a line of its own."""
    named = max((len(name) for name, _, _ in cells), default=0)
    lines = []
    for name, cell, painter in cells:
        room = (width or display_width(cell) + len(indent) + named + _GAP) - len(indent) - named - _GAP
        if cell in _NONE:
            continue
        if width and isinstance(cell, Lines):
            lines += _stacked(cell, name, painter, width - len(indent) - named - _GAP, indent + " " * (named + _GAP))
            continue
        if width and max(map(display_width, _words(cell))) > room:
            lines += [f"{indent}{name}"] if name else []
            narrow = width - len(indent + _INDENT)
            lines += [_line([indent + _INDENT + text], [0], [painter], 0) for text in _wrap(cell, narrow)]
            continue
        for number, text in enumerate(_wrap(cell, room)):
            lines.append(indent + _line(["" if number else name, text], [named, 0], [_plain, painter], _GAP))
    return lines


def _stacked(cell: Lines, name: str, painter: Callable[[str], str], width: int, indent: str) -> list[str]:
    """Return the lines of a cell below each other, the first beside its name; each is broken with its indentation."""
    found = []
    for line in cell.lines:
        own = line[: len(line) - len(line.lstrip(TIE))]
        found += [indent + _line([text], [0], [painter], 0) for text in _wrap(line, width, own + TIE * len(_INDENT))]
    return [f"{_INDENT}{name}".ljust(len(indent)) + found[0][len(indent) :], *found[1:]]


def _plain_cell(cell: str) -> str:
    return Lines(plain(cell), [*map(plain, cell.lines)]) if isinstance(cell, Lines) else plain(cell)


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


def _wrap(cell: str, size: int, hanging: str = "") -> list[str]:
    """Return the cell in lines: broken between words; words that are longer than a line at separators of names.

    `hanging` is the indentation of the lines after the first.
    """
    if display_width(cell) <= size:
        return [cell]
    lines = [""]
    for word in _words(cell):
        piece = word
        if display_width(f"{lines[-1]} {piece}".lstrip(" ")) <= size - (len(hanging) if len(lines) > 1 else 0):
            lines[-1] = f"{lines[-1]} {piece}".lstrip(" ")
            continue
        while display_width(piece) > size - len(hanging):
            head = _head(piece, size - len(hanging))
            lines.append(head)
            piece = piece[len(head) :]
        lines.append(piece)
    first, *others = [line for line in lines if line] or [""]
    return [first, *(hanging + line for line in others)]


def _head(word: str, size: int) -> str:
    """Return the beginning of a word that fits, up to a comma of JSON, or else a separator of a name."""
    end = len(word)
    while end > 1 and display_width(word[:end]) > size:
        end -= 1
    places = (word.rfind(",", 0, end) + 1, max(word.rfind(mark, 0, end) for mark in "/-.#:=") + 1, end)
    return word[: next(place for place in places if place > end // 3)]


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
